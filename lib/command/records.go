package command

import (
	"bytes"
	"io"

	"clawsh/lib/record"
)

// recordList is what a command that writes records answers with --output-format json.
type recordList struct {
	Records []record.Raw `json:"records"`
}

// WriteText implements Result. As text, records are written as they come.
func (recordList) WriteText(io.Writer) error { return nil }

// Collect runs a command that writes records to standard output. With --output-format json they are its answer.
func (c *Call) Collect(run func(c *Call) (Result, error)) (Result, error) {
	if !c.JSON() {
		return run(c)
	}
	var out bytes.Buffer
	quiet := *c
	quiet.Stdout = &out
	_, err := run(&quiet)
	list := recordList{Records: []record.Raw{}}
	for line := range bytes.Lines(out.Bytes()) {
		list.Records = append(list.Records, record.Raw(bytes.TrimSuffix(line, []byte("\n"))))
	}
	return list, err
}
