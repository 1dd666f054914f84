package demo

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sluice-data/sluice/core"
)

// Print writes the result as a short table.
func (r Result) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STEP\tTABLE\tEXECUTIONS\tVERSIONS\tFENCES\tLATE COMMIT\tROWS\tEQUAL\tTIME")
	for _, s := range r.Steps {
		late := s.Late
		if late == "" {
			late = "-"
		}
		equal := "yes"
		if !s.Equal {
			equal = "NO"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\tv%d → v%d\t%d\t%s\t%d\t%s\t%v\n", s.Step, s.Target, outcomes(s.Executions),
			s.From, s.To, s.Fences, late, s.Rows, equal, s.Time.Round(10*time.Millisecond))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	for _, s := range r.Steps {
		if s.Differs != "" {
			fmt.Fprintf(w, "%s %s: %s\n", s.Step, s.Target, s.Differs)
		}
	}
	return nil
}

// outcomes is "1 merged" or "2 E_NO_PROGRESS, 3 merged".
func outcomes(all []Outcome) string {
	var words []string
	for _, o := range all {
		code := string(o.Code)
		if o.Merged {
			code = "merged"
		} else if o.Code == core.CodeOK {
			code = "ended"
		}
		words = append(words, fmt.Sprintf("%d %s", o.Number, code))
	}
	return strings.Join(words, ", ")
}
