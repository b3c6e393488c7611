package envelope

// ExitCode is an exit code and its meaning.
type ExitCode struct {
	Code  int
	Means string
}

// ExitCodes lists the exit codes of all clawsh programs with their meanings, for the manual. There is no other list.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{ExitOK, "done"},
		{ExitError,
			"error, not found, verification failed, a request that the provider does not take, an answer that was refused, withheld or " +
				"empty, or some input lines were bad"},
		{ExitLimit,
			"a limit was reached: time, tool rounds, tokens, cost, length of the answer or of the conversation"},
		{ExitUsage, "wrong usage of the command line"},
		{ExitProvider,
			"the provider is unavailable, after retries and fallback: network, time, overload, key or quota"},
		{ExitSandbox, "the sandbox that the policy requires cannot be set up: a program was not run"},
		{ExitWaiting, "waiting for an approval that can be given later (reserved)"},
		{ExitDenied,
			"answered, but a tool call was denied with nobody asked: by policy, by the emergency stop, or because nobody was there, so that " +
				"cron notices"},
		{ExitConfig, "bad configuration"},
		{ExitHungUp, "hung up (SIGHUP)"},
		{ExitInterrupted, "interrupted (SIGINT)"},
		{ExitPipe,
			"the reader of standard output has gone before the streamed answer or the records of a turn were written; the turn is ended " +
				"as by Ctrl-C, and nothing is said"},
		{ExitTerminated, "terminated (SIGTERM)"},
	}
}
