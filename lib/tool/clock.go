package tool

import (
	"context"
	"fmt"
	"time"

	"clawsh/lib/card"
)

// tellTime tells the time.
func tellTime(_ context.Context, _ card.TimeArgs, env *Env) Result {
	now := time.Now()
	zone, offset := now.Zone()
	r := Result{Success: true}
	r.setText(fmt.Sprintf("local: %s %s\nutc: %s\nzone: %s (UTC%s)\nunix: %d\n", now.Format(time.RFC3339),
		now.Format("Monday"),
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
