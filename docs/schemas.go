// Package docs holds the JSON Schemas of everything that clawsh writes: records, receipts and envelopes. SCHEMAS.md
// beside them says in words what they say in JSON.
package docs

import "embed"

// FS holds schemas/NAME.json: one schema a record kind, and receipt, envelope, audit and fixture_step.
//
//go:embed schemas/*.json
var FS embed.FS
