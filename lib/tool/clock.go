package tool

import (
	"context"
	"fmt"
	"time"

	"clawsh/lib/record"
)

// timeTool tells the time. It takes no arguments.
type timeTool struct{}

// Name implements Tool.
func (timeTool) Name() string { return "time" }

// Description implements Tool.
func (timeTool) Description() string { return "Current local time, UTC time and time zone." }

// Parameters implements Tool.
func (timeTool) Parameters() record.Raw {
	return record.Raw(`{"type":"object","properties":{},"additionalProperties":false}`)
}

// Invoke implements Tool.
func (timeTool) Invoke(_ context.Context, args record.Raw, env *Env) Result {
	var none struct{}
	if err := decode(args, &none); err != nil {
		return failf("%v", err)
	}
	now := time.Now()
	zone, offset := now.Zone()
	r := Result{Success: true}
	r.setText(fmt.Sprintf("local: %s %s\nutc: %s\nzone: %s (UTC%s)\nunix: %d\n", now.Format(time.RFC3339), now.Format("Monday"),
		now.UTC().Format(time.RFC3339), zone, offsetText(offset), now.Unix()), env)
	return r
}

func offsetText(seconds int) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	return fmt.Sprintf("%c%02d:%02d", sign, seconds/3600, seconds/60%60)
}
