package onboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/sibling"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Interview asks for what flags do not say, and checks each answer before the next question.
type Interview struct {
	*Answers
	paths   config.Paths
	environ []string
	given   func(flag string) bool
	getenv  func(string) string
	tell    func(format string, args ...any) // between two questions

	askLine  func(ctx context.Context, prompt string, maxBytes int) (string, error)
	confirm  func(ctx context.Context, question string) (bool, error)
	terminal bool // somebody sits there
	// query asks the one program that may see the key, whose complaints go to stderr if it is not nil.
	query func(ctx context.Context, cfg *config.Config, stderr *os.File, v any, args ...string) error

	seen probe
}

// New prepares an interview on the terminal. The answers are those that flags gave.
func New(c *command.Call, p config.Paths, given *Answers) *Interview {
	i := &Interview{Answers: given, paths: p, environ: c.Environ, given: c.Changed, getenv: c.Getenv,
		askLine: terminal.AskText,
		confirm: terminal.Confirm, terminal: terminal.IsTerminal(os.Stdin)}
	i.tell = func(format string, args ...any) {
		fmt.Fprintln(c.Stderr, terminal.Escape(c.Secrets.Text(fmt.Sprintf(format, args...))))
	}
	i.query = func(ctx context.Context, cfg *config.Config, stderr *os.File, v any, args ...string) error {
		return sibling.New(cfg, c.Environ, stderr).Query(ctx, v, "claw-llm", args...)
	}
	return i
}

// Run asks, makes the home if there is none, writes the answers and tests the provider.
func (i *Interview) Run(ctx context.Context) (Result, error) {
	err := i.Check(i.given)
	if err == nil {
		i.present, err = before(i.paths)
	}
	if err == nil && !i.wayOnly {
		err = i.run(ctx)
	}
	if err == nil {
		_, err = SetUp(ctx, i.environ, i.paths)
	}
	if err != nil {
		return Result{}, err
	}
	return i.apply(ctx)
}

// maxAsked bounds how often a question is asked again.
const maxAsked = 5

// again says why an answer is of no use, so that the question is asked once more.
type again struct{ why, hint string }

// Error returns why.
func (a again) Error() string { return a.why }

// question is one thing to ask: skipped if a flag has answered it. Check takes the answer, or says what is wrong with
// it.
type question struct {
	head               string // that is said once, before the first time it is asked
	flag, text, preset string
	check              func(ctx context.Context, answer string) error
}

// run asks everything.
func (i *Interview) run(ctx context.Context) error {
	d := presets(i.present)
	if err := i.ask(ctx, question{"", "kind", kindText(), d.kind, i.takeKind}); err != nil {
		return err
	}
	if config.IsServer(i.Kind) {
		if err := i.server(ctx, d); err != nil {
			return err
		}
	}
	if !i.given("way") && !i.given("autonomy") {
		if err := i.ask(ctx, question{ways, "way", "Way (strict, middle, full)", d.way, i.takeWay}); err != nil {
			return err
		}
	}
	return i.ask(ctx, question{wheres, "where", "Where (here, fixed)", d.where, i.takeWhere})
}

// server asks for a server, its key and its model.
func (i *Interview) server(ctx context.Context, d defaults) error {
	if err := i.ask(ctx, question{"", "base-url", "Base URL of the server", d.baseURL, i.takeURL}); err != nil {
		return err
	}
	preset := "-"
	if i.seen.wantsKey || !i.seen.reached {
		preset = "OPENAI_API_KEY"
	}
	if d.keyEnv != "" && !i.moved() {
		preset = d.keyEnv
	}
	if err := i.ask(ctx, question{"", "api-key-env", "Environment variable with the API key (- for none)", preset,
		i.takeKey}); err != nil {
		return err
	}
	if !i.given("model") && i.given("base-url") && i.terminal {
		i.seen = i.look(ctx, i.Answers)
	}
	text, preset := i.offer()
	if d.model != "" && !i.moved() && (len(i.seen.models) == 0 || i.seen.has(d.model)) {
		preset = d.model
	}
	return i.ask(ctx, question{"", "model", text, preset, i.takeModel})
}

// kindText asks for one of the kinds that are offered.
func kindText() string {
	names, texts := config.Offered()
	return "Provider: " + strings.Join(texts, ", or ") + " (" + strings.Join(names, ", ") + ")"
}

// Kinds are the kinds of providers that are offered.
func Kinds() string {
	names, _ := config.Offered()
	return strings.Join(names, " or ")
}

// wanted says what a flag takes, for those who have no terminal to be asked on.
func wanted(flag string) string {
	switch flag {
	case "kind":
		return Kinds()
	case "base-url":
		return "the server's address, such as http://localhost:1234/v1"
	case "model":
		return "the name of a model that the server has"
	}
	return "strict, middle or full" // --way
}

// ask asks one question until its answer is of use.
func (i *Interview) ask(ctx context.Context, q question) error {
	if i.given(q.flag) {
		return nil
	}
	head := q.head
	for range maxAsked {
		text, err := i.askLine(ctx, fmt.Sprintf("%s%s [%s]: ", head, q.text, terminal.Escape(q.preset)), 1000)
		head = ""
		if errors.Is(err, terminal.ErrNoTerminal) {
			if q.flag == "api-key-env" || q.flag == "where" {
				return nil // no key is a fine answer for a local server, and the place stays what it was
			}
			return envelope.Errorf(envelope.ExitUsage, "usage",
				"--%s is missing, and there is no terminal to ask on: want %s", q.flag, wanted(q.flag))
		}
		if err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		answer := strings.TrimSpace(text)
		if answer == "" {
			answer = q.preset
		}
		err = q.check(ctx, answer)
		var once again
		if !errors.As(err, &once) {
			return err
		}
		i.tell("%s", once.why)
		if once.hint != "" {
			i.tell("  %s", once.hint)
		}
	}
	return envelope.Errorf(envelope.ExitUsage, "usage", "no usable answer about --%s", q.flag)
}

func (i *Interview) takeKind(_ context.Context, answer string) error {
	if names, _ := config.Offered(); !slices.Contains(names, answer) {
		return again{"Unknown kind of provider; want " + Kinds() + ".", ""}
	}
	i.Kind = answer
	return nil
}

// takeURL tries the server at once. One that cannot be reached now may be wanted anyway.
func (i *Interview) takeURL(ctx context.Context, answer string) error {
	i.BaseURL = answer
	i.seen = i.open(ctx)
	i.below(ctx)
	answer = i.BaseURL
	e := i.seen.err
	switch {
	case e == nil:
		i.tell("Reached: it lists %s.", spelling.Count(len(i.seen.models), "model"))
		return nil
	case i.seen.wantsKey:
		i.tell("Reached: it asks for a key.")
		return nil
	case i.seen.reached:
		i.tell("Reached, but it lists no models: %s", i.seen.why(answer))
		return nil
	case e.Code == "config.invalid":
		return again{"That cannot be used: " + strings.Replace(e.Message, "(not shown): ", "", 1), ""}
	}
	i.tell("Not reached: %s", i.seen.why(answer))
	if e.Hint != "" {
		i.tell("  %s", e.Hint)
	}
	keep, err := i.confirm(ctx, "Use this address anyway? [y/N]: ")
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	if !keep {
		return again{"Then enter another one.", ""}
	}
	return nil
}

// open asks the server for its models without a key that nobody has said it may have.
func (i *Interview) open(ctx context.Context) probe {
	o := *i.Answers
	if !i.given("api-key-env") {
		o.KeyEnv = "-"
	}
	return i.look(ctx, &o)
}

// below looks for the API under /v1 where an address leads to something else, and takes it if it is there.
func (i *Interview) below(ctx context.Context) {
	given, u := i.BaseURL, strings.TrimRight(i.BaseURL, "/")
	if i.seen.err == nil || !i.seen.reached || i.seen.wantsKey || strings.HasSuffix(u, "/v1") ||
		strings.Contains(u, "?") {
		return
	}
	i.BaseURL = u + "/v1"
	if seen := i.open(ctx); seen.err == nil || seen.wantsKey {
		i.seen = seen
		i.tell("It answers at %s; using that address.", i.BaseURL)
		return
	}
	i.BaseURL = given
}

// takeKey looks whether the variable is set, and whether the server likes what is in it.
func (i *Interview) takeKey(ctx context.Context, answer string) error {
	i.KeyEnv = answer
	if answer == "-" {
		return nil
	}
	seen := i.look(ctx, i.Answers)
	switch {
	case seen.err != nil && seen.err.Code == "config.invalid":
		return again{"That is not the name of an environment variable.",
			"Give the name, such as OPENAI_API_KEY, never the key itself."}
	case strings.TrimSpace(i.getenv(answer)) == "":
		i.tell("%s is not set here: set it to the key before you start clawsh.", answer)
		return nil
	case seen.wantsKey:
		return again{"The server rejects the key in " + answer + ": " + seen.why(i.BaseURL),
			"Name another variable, or press Ctrl-C and set it."}
	}
	if i.seen = seen; seen.err == nil {
		i.tell("The key in %s is accepted: the server lists %s.", answer, spelling.Count(len(seen.models), "model"))
	}
	return nil
}

// maxOffered is how many models are shown.
const maxOffered = 20

// offer is the question about the model, with those that there are.
func (i *Interview) offer() (text, preset string) {
	if len(i.seen.models) == 0 {
		return "Model", "local-model"
	}
	var b strings.Builder
	for n, m := range i.seen.models[:min(len(i.seen.models), maxOffered)] {
		fmt.Fprintf(&b, "  %d  %s\n", n+1, terminal.Escape(m.ID))
	}
	if more := len(i.seen.models) - maxOffered; more > 0 {
		fmt.Fprintf(&b, "  and %d more: clawsh provider models lists them\n", more)
	}
	return b.String() + "Model (number or name)", i.seen.models[0].ID
}

func (i *Interview) takeModel(_ context.Context, answer string) error {
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= min(len(i.seen.models), maxOffered) {
		answer = i.seen.models[n-1].ID
	}
	if strings.Contains(answer, "://") {
		return again{"That is a URL, not the name of a model.", ""}
	}
	if len(i.seen.models) > 0 && !i.seen.has(answer) && i.Model != answer {
		i.Model = answer
		return again{"The server does not list " + answer + ".", "Enter it again to use it anyway."}
	}
	i.Model = answer
	for _, m := range i.seen.models {
		if m.ID == answer && m.ContextLength > 0 {
			return i.fit(m.ContextLength)
		}
	}
	return nil
}

// smallContext is how many tokens a model reads for which the system prompt, the tools and the answer are half of them.
const smallContext = 16 << 10

// fit makes conversations small enough for a model that reads so many tokens.
func (i *Interview) fit(length int) error {
	room := length - length/4
	if length < smallContext {
		room = length / 2
	}
	return i.with(i.paths, func(cfg *config.Config) error {
		if most := cfg.Context.MaxTokens; most == 0 || most > room {
			i.context = room
			i.tell("It reads %s, so conversations are kept to %d: context.max_tokens in the configuration.",
				spelling.Count(length, "token"), room)
		}
		return nil
	})
}
