# clawsh: few targets, each a line or two of go. No cgo: with it, net and os/user would link dynamically.
export CGO_ENABLED = 0
GO      ?= go
PREFIX  ?= /usr/local
BIN     ?= bin
SHARE   ?= $(BIN)/share
FLAGS   := -trimpath -ldflags=-s\ -w
PROGRAMS := clawsh claw-llm claw-gate claw-exec claw-receipt claw-mem claw-loop
FUZZTIME ?= 10s

.PHONY: all build share docs test cover flaky race lint soak bench fuzz install uninstall clean demo score tasks attack release release-test

all: build

build: ## all seven programs, into bin/
	mkdir -p $(BIN)
	$(GO) build $(FLAGS) -o $(BIN)/ ./cmd/...

share: build ## man pages and completions, into bin/share: what install puts into PREFIX/share
	rm -rf $(SHARE)
	$(GO) run ./docs/generate share $(BIN) $(SHARE)

docs: build ## what is made from tables: clawsh's commands of stages, and pages of commands, configuration, exit codes
	$(GO) run ./docs/generate offers $(BIN)
	$(GO) build $(FLAGS) -o $(BIN)/ ./cmd/clawsh
	$(GO) run ./docs/generate docs $(BIN)

# Tests in the order of a seed that go test prints, -shuffle=SEED repeats it. Many wait more than they compute, so more of them run
# than there are processors; ./test is the longest and begins first.
PARALLEL ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))))
test: ## all tests, over the real binaries; TESTFLAGS=-v and the like go to go test
	$(GO) test -timeout 25m -shuffle=on -parallel $(PARALLEL) $(TESTFLAGS) ./test ./...

# Programs write what they run through into a directory that they are built with: they are confined, and pass few variables on.
COVER   := $(CURDIR)/$(BIN)/cover
COVERED := TestScripts|Contract|Servers|Tab|README|Guide|Tasks|Doctor|SSH|Signals
cover: ## share of statements that the tests of packages, and the programs in scripts, run through, by package
	rm -rf $(COVER) && mkdir -p $(COVER)/tests $(COVER)/programs
	$(GO) build -tags cover -cover -coverpkg=clawsh/... -ldflags '-X clawsh/lib/command.coverDir=$(COVER)/programs' -o $(COVER)/bin/ ./cmd/...
	$(GO) test -count=1 -cover ./cmd/... ./lib/... -args -test.gocoverdir=$(COVER)/tests
	CLAWSH_BIN=$(COVER)/bin $(GO) test -count=1 -timeout 25m -parallel $(PARALLEL) -run '$(COVERED)' ./test
	.ci/cover $(COVER)

N ?= 20
flaky: ## all tests N times; prints each that failed, and how often
	@for i in $$(seq $(N)); do $(MAKE) -s test TESTFLAGS=-json; done | \
	  jq -rR 'fromjson? | select(.Action == "fail" and .Test) | .Package + " " + .Test' | sort | uniq -c | sort -rn

race: ## the packages and the confinement of each program with the race detector, which needs cgo and a C compiler
	CGO_ENABLED=1 $(GO) test -race -timeout 30m ./lib/... ./cmd/...

# Tests of which make test runs a few rounds: those that call need.Rounds or need.Soak.
SOAKED   := Crash|Signals|Mutants|Surroundings|Stays|Starts|Hostile|Ordinary|Independent|Tasks|Servers|Contract|Steps|TestObeyed$$|Words|Opens?|WhileMig|Lag|Tiles|Environment
REPEATED := EightProcesses|KilledProcesses|Kill|FullDisk|FullDatabase|FileTooLarge|Writers|Processes|OpenersAndClosers
SOAK     ?= 1
soak: ## all rounds of the tests of which make test runs a few: kills, signals, mutations, shapes; SOAK=5 runs five times as many
	CLAWSH_SOAK=$(SOAK) $(GO) test -count=1 -timeout 60m -shuffle=on -parallel $(PARALLEL) -run '$(SOAKED)' $(TESTFLAGS) ./test ./lib/policy ./lib/memory ./lib/receipt ./lib/durable ./lib/tool
	$(GO) test -count=$$((2 * $(SOAK))) -timeout 60m -run '$(REPEATED)' $(TESTFLAGS) ./lib/memory ./lib/receipt ./lib/durable
	$(GO) test -count=$$((2 * $(SOAK))) -timeout 60m -run 'EightProcesses|KilledProcesses|FullDisk' $(TESTFLAGS) ./test

lint: ## gofmt, vet on Linux and macOS, staticcheck
	@test -z "$$(gofmt -l cmd lib test docs)" || { gofmt -l cmd lib test docs; exit 1; }
	$(GO) vet ./...
	GOOS=darwin $(GO) build ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

bench: build ## figures beside their reference, measured in the same run; CLAWSH_BASE=REV times turns beside that revision's, too
	CLAWSH_BIN=$(CURDIR)/$(BIN) $(GO) test -run '^$$' -bench . -benchtime 1s -timeout 60m ./lib/...
	CLAWSH_BIN=$(CURDIR)/$(BIN) $(GO) test -run '^$$' -bench . -benchtime 1x -timeout 20m ./test/bench

fuzz: ## every fuzz target for FUZZTIME
	@for p in $$($(GO) list ./lib/...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

ATTACK_TIME ?= 3m
attack: ## mutations of the hostile commands against the real gate and executor; ATTACK_TIME=1h ATTACK_SEED=7 for more and others
	ATTACK_TIME=$(ATTACK_TIME) $(GO) test ./test -count=1 -run TestMutantsTouchNothing -v -timeout 24h

tasks: ## small pieces of real work at each of three ways to work, and how many questions they take
	CLAWSH_SOAK=1 $(GO) test ./test -count=1 -run TestTasks -v | grep -v '^=== '

score: build ## how the gate judges testdata/commands, class by class; go run ./test/score -v names every wrong verdict
	$(GO) run ./test/score -gate $(BIN)/claw-gate

install: share ## programs, man pages and completions below PREFIX, which DESTDIR goes before
	./install.sh install "$(DESTDIR)$(PREFIX)" $(BIN) $(SHARE)

uninstall: ## remove what install has put there, and nothing else
	./install.sh uninstall "$(DESTDIR)$(PREFIX)"

release: ## archives, packages, checksums and lists of components of the commit that is checked out, into dist/
	.release/run

release-test: ## make release twice in two directories, compare, and install, use and purge the packages
	.release/test

clean:
	rm -rf $(BIN) dist

demo: ## the main job, offline, in a scratch home
	@mkdir -p $(BIN)
	@echo "Building the seven programs into $(BIN)/: a first time takes a minute or two, later ones a second."
	@n=0; for p in $(PROGRAMS); do n=$$((n + 1)); echo "  $$n of $(words $(PROGRAMS)): $$p"; \
	  $(GO) build $(FLAGS) -o $(BIN)/ ./cmd/$$p || exit 1; done
	@./test/demo.sh $(BIN)
