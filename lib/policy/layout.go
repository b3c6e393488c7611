package policy

import (
	"path/filepath"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/place"
)

// layout blocks what a staged workspace does not let anybody write: all but data/ and output/.
func (p *Policy) layout(path string, f finding) finding {
	if !p.staged || f.blocked {
		return f
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.root, path)
	}
	if real := p.real(path); place.Within(p.root, real) &&
		!config.StagedWritable(strings.TrimPrefix(strings.TrimPrefix(real, p.root), "/")) {
		return blocked("path.layout",
			"%+q is neither in data/ nor in output/; the rest of a staged workspace is read-only", bounded(path))
	}
	return f
}
