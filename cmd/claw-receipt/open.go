package main

import (
	"clawsh/lib/command"
	"clawsh/lib/receiptlog"
)

// open is the receipt log of the home that the command is about.
func open(c *command.Call) (receiptlog.Log, error) {
	cfg, err := c.Config()
	if err != nil {
		return receiptlog.Log{}, err
	}
	return receiptlog.Of(cfg), nil
}

// only is a result, unless there is an error.
func only[R command.Result](r R, err error) (command.Result, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

// either is a result, an error, or both.
func either[R command.Result](r *R, err error) (command.Result, error) {
	if r == nil {
		return nil, err
	}
	return *r, err
}
