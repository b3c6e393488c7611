// Score prints how the gate judges the commands of testdata/commands, class by class, and what each way to work makes
// of them. It fails only where it cannot ask; what is expected is a test's business.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"

	"clawsh/test/corpus"
)

func main() {
	gate := flag.String("gate", "bin/claw-gate", "the claw-gate binary")
	dir := flag.String("commands", "testdata/commands", "the directory with the lists")
	details := flag.Bool("v", false, "print every wrong verdict too")
	flag.Parse()
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := score(ctx, *gate, *dir, *details); err != nil {
		log.Fatalf("score: error: %v", err)
	}
}

func score(ctx context.Context, program, dir string, details bool) error {
	cases, err := corpus.Load(dir)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "clawsh-score-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	gate, err := corpus.NewGate(program, scratch)
	if err != nil {
		return err
	}
	levels, err := gate.Judge(ctx, cases)
	if err != nil {
		return err
	}
	if err := corpus.NewScore(cases, levels).Write(os.Stdout, details); err != nil {
		return err
	}
	var tallies []*corpus.Tally
	for _, way := range corpus.Ways {
		decisions, err := gate.Decide(ctx, way, cases)
		if err != nil {
			return err
		}
		tallies = append(tallies, corpus.NewTally(way, cases, decisions))
	}
	return corpus.WriteTallies(os.Stdout, tallies, details)
}
