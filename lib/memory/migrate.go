package memory

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// steps are what each version adds to the one before it; the first is on nothing.
func steps() []string { return []string{version1, version2 + indexes, version3, version4} }

// migrate brings the file to the current version, from any earlier one or from nothing, in one transaction. Several
// processes may do so at once: one does, the others wait and find it done. A crash leaves the file as it was; a blank
// one is in WAL mode then.
func migrate(conn *sqlite3.Conn) error {
	return transaction(conn, func() error {
		version, err := check(conn)
		if err != nil {
			return err
		}
		if version == schemaVersion {
			return nil
		}
		for i, step := range steps() {
			if i < version {
				continue
			}
			if err := conn.Exec(step); err != nil {
				return fmt.Errorf("to version %d: %w", i+1, err)
			}
		}
		return conn.Exec(fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", applicationID, schemaVersion))
	})
}

// over lets a reader, who may change nothing, see a file of an earlier version as one of the current version. Temporary
// views come before tables of their names. When somebody migrates the file meanwhile, the column of * comes before the
// one behind it.
func over(version int) string {
	const place = `NULL AS directory, NULL AS terminal, `
	const counted = `(SELECT count(DISTINCT turn_id) FROM main.entries e WHERE e.conversation_id = c.id) AS turns,
  (SELECT count(*) FROM main.entries e WHERE e.conversation_id = c.id) AS entries FROM main.conversations c;
CREATE TEMP VIEW turn_extents AS ` + extents + `;
CREATE TEMP VIEW usage_days AS ` + usageDays + `;
CREATE TEMP VIEW usage_conversations AS ` + usageConversations + `;`
	switch version {
	case 3:
		return `CREATE TEMP VIEW conversations AS SELECT *, ` + counted
	case 2:
		return `CREATE TEMP VIEW conversations AS SELECT *, ` + place + counted
	}
	return `
CREATE TEMP VIEW conversations AS SELECT *, NULL AS archived_at, ` + place + counted + `
CREATE TEMP VIEW entries AS SELECT *, ` + used("input_tokens") + ` AS input_tokens, ` + used("output_tokens") + ` AS output_tokens FROM main.entries;`
}
