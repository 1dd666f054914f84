package sim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/sluice-data/sluice/core"
)

// historyLog writes a history as JSONL: one operation a line, in the order in which they were answered, and those
// that never were at the end. Times are virtual nanoseconds since the start of the run.
type historyLog struct {
	out      *bufio.Writer
	open     []*operation // without an answer so far, by call
	firstErr error
}

// historyLine is one operation as it is written.
type historyLine struct {
	Object string        `json:"object"`
	Client string        `json:"client"`
	Call   core.MonoTime `json:"call_ns"`
	// Effect is when the world did it, which no client knows; absent: never.
	Effect *core.MonoTime `json:"effect_ns,omitempty"`
	// Return is when the client was told Output; absent: never.
	Return  *core.MonoTime `json:"return_ns,omitempty"`
	Kind    string         `json:"kind"`
	Input   any            `json:"input"`
	Output  any            `json:"output,omitempty"`
	Unknown bool           `json:"unknown,omitempty"`
}

func newHistoryLog(out io.Writer) *historyLog { return &historyLog{out: bufio.NewWriter(out)} }

func (l *historyLog) called(op *operation) {
	if l != nil {
		l.open = append(l.open, op)
	}
}

func (l *historyLog) answered(op *operation) {
	if l == nil {
		return
	}
	for i, o := range l.open {
		if o == op {
			l.open = append(l.open[:i], l.open[i+1:]...)
			break
		}
	}
	l.write(op)
}

func (l *historyLog) write(op *operation) {
	line := historyLine{Object: op.object.name, Client: op.client, Call: op.call, Unknown: op.told == nil}
	line.Kind, line.Input = spelled(op.input)
	if op.output != nil {
		line.Effect = &op.at
	}
	if op.told != nil {
		line.Return, line.Output = &op.back, answerOf(op.told)
	}
	text, err := json.Marshal(line)
	if err == nil {
		_, err = l.out.Write(append(text, '\n'))
	}
	if err != nil && l.firstErr == nil {
		l.firstErr = err
	}
}

// end writes what was never answered; it reports the first error of all.
func (l *historyLog) end() error {
	if l == nil {
		return nil
	}
	for _, op := range l.open {
		l.write(op)
	}
	if err := l.out.Flush(); err != nil && l.firstErr == nil {
		l.firstErr = err
	}
	return l.firstErr
}

// spelled is what was asked, with the name of its kind.
func spelled(input any) (kind string, in any) {
	switch in := input.(type) {
	case kvInput:
		switch e := in.effect.(type) {
		case core.Commit:
			return e.Txn.Name, e.Txn
		case core.Read:
			return "read", e.Ranges
		}
	case tableCall:
		return in.what.String(), struct {
			Version   core.Version     `json:"version,omitempty"`
			By        string           `json:"by,omitempty"`
			Execution core.ExecutionID `json:"execution,omitempty"`
		}{in.version, in.by, in.execution}
	case demandCall:
		return in.what.String(), struct {
			Asked    []core.ShardID `json:"asked_after,omitempty"`
			Taken    []core.ShardID `json:"taken,omitempty"`
			Served   []core.ShardID `json:"served,omitempty"`
			Compared core.Revision  `json:"compared"`
		}{in.asked, in.taken, in.served, in.seen}
	}
	panic(fmt.Sprintf("no spelling for %T", input))
}

// answerOf is what was answered.
func answerOf(told any) any {
	switch a := told.(type) {
	case core.Committed:
		return struct {
			Outcome  string        `json:"outcome"`
			Revision core.Revision `json:"revision"`
		}{a.Outcome.String(), a.Revision}
	case core.ReadDone:
		return struct {
			Revision core.Revision `json:"revision"`
			Records  []core.Record `json:"records"`
		}{a.Revision, a.Records}
	case core.Outcome:
		return a.String()
	}
	return "nothing"
}

// answerText is an answer in a sentence.
func answerText(told any) string {
	if r, ok := told.(core.ReadDone); ok {
		return fmt.Sprintf("%d records at revision %d", len(r.Records), r.Revision)
	}
	return fmt.Sprintf("%v", answerOf(told))
}
