package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bars show how merges go: as moving bars on a terminal, else as plain lines.
type bars struct {
	out      *os.File
	terminal bool
	off      bool
}

func newBars(out *os.File) bars { return bars{out: out, terminal: isatty.IsTerminal(out.Fd())} }

// barEvery is how often a bar is drawn, lineEvery how often a plain line is printed.
const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 10 * time.Second
)

// watch shows one merge until ctx ends. poll returns rows done and rows in all.
func (b bars) watch(ctx context.Context, name string, poll func() (done, total int64)) {
	switch {
	case b.off:
		<-ctx.Done()
	case b.terminal:
		b.draw(ctx, name, poll)
	default:
		b.print(ctx, name, poll)
	}
}

func (b bars) draw(ctx context.Context, name string, poll func() (done, total int64)) {
	p := mpb.New(mpb.WithOutput(b.out), mpb.WithWidth(48), mpb.WithAutoRefresh())
	done, total := poll()
	bar := p.New(max(1, total), mpb.BarStyle(),
		mpb.PrependDecorators(decor.Name(name, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d / %d rows", decor.WCSyncSpace), decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace)),
	)
	every := time.NewTicker(barEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		// NB: a bar that reaches its total is complete and can't go on; that is for the end to say.
		bar.SetTotal(max(1, total)+1, false)
		bar.SetCurrent(min(done, max(1, total)))
		select {
		case <-ctx.Done():
		case <-every.C:
		}
		done, total = poll()
	}
	done, total = poll()
	if done >= total {
		bar.SetTotal(max(1, total), false)
		bar.SetCurrent(max(1, total))
		bar.SetTotal(-1, true)
	} else {
		bar.Abort(false)
	}
	p.Wait()
}

func (b bars) print(ctx context.Context, name string, poll func() (done, total int64)) {
	said := int64(-1)
	say := func() {
		if done, total := poll(); done != said {
			said = done
			fmt.Fprintf(b.out, "%s: %d of %d rows\n", name, done, total)
		}
	}
	say()
	every := time.NewTicker(lineEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-every.C:
			say()
		}
	}
	say()
}
