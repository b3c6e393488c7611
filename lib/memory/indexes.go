package memory

// indexes, since version 2, let a search with a filter go straight to the entries between which all that pass it are.
// Without them it is only slower. Entries of no tool or provider are not in them.
const indexes = `
CREATE INDEX IF NOT EXISTS entries_ts ON entries(ts);
CREATE INDEX IF NOT EXISTS entries_tool ON entries(tool) WHERE tool <> '';
CREATE INDEX IF NOT EXISTS entries_provider ON entries(provider) WHERE provider <> '';`
