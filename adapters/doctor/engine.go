package doctor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/lake"
)

// Python looks for the engine's Python as a worker does.
func Python(explicit string) Check {
	return one(func(ctx context.Context) Finding {
		const check = "python"
		python, err := engine.FindPython(ctx, explicit)
		if err != nil {
			return failed(check, "run make .venv, or name a Python that has pylance "+engine.Pylance+" by --python", err)
		}
		return passed(check, "%s has pylance %s", python, engine.Pylance)
	})
}

// imports loads what an engine loads.
const imports = `import lance, pyarrow
print(lance.__version__)`

// Engine loads pylance as an engine process does: with its environment and under its memory limit.
func Engine(explicit string) Check {
	return one(func(ctx context.Context) Finding {
		const check = "engine"
		python, err := engine.FindPython(ctx, explicit)
		if err != nil {
			return warning(check, "see python above", "not looked at: there is no Python to try")
		}
		begun := time.Now()
		if _, err := engine.Alone(ctx, python, 0, imports); err != nil {
			return failed(check, "see what it said; pylance needs glibc, and a writable temporary directory ($TMPDIR)", oneLine(err))
		}
		return passed(check, "pylance loads in %v", time.Since(begun).Round(10*time.Millisecond))
	})
}

// reaches tries to find an object of the lake with what the environment gives, and as nobody at all.
const reaches = `import json
from lance.file import LanceFileSession
uri, name, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
seen = []
for how, more in [("with what its environment gives", {}), ("without credentials", {"aws_skip_signature": "true"})]:
    try:
        if LanceFileSession(uri, storage_options=options | more).contains(name):
            seen.append(how)
    except Exception:
        pass
print(json.dumps(seen))`

// Apart shows that an engine can't reach a bucket past the gate: it has no credentials but the gate's. A lake
// in a directory has no such wall, since engine and worker are one user; there it is what they are told.
func Apart(explicit string, l *lake.S3) Check {
	return one(func(ctx context.Context) Finding {
		const check = "engine-apart"
		python, err := engine.FindPython(ctx, explicit)
		if err != nil {
			return warning(check, "see python above", "not looked at: there is no Python to try")
		}
		name := "doctor-" + rand.Text()
		if err := l.Put(ctx, ours+"/"+name, []byte("to be seen through the gate only")); err != nil {
			return warning(check, "see put-if-absent above", "not looked at: %v", oneLine(err))
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
			defer cancel()
			_ = l.Delete(ctx, ours+"/"+name) // that it can is checked before
		}()
		seen, err := seenBy(ctx, python, l, name)
		switch {
		case err != nil:
			return failed(check, "see engine above", err)
		case len(seen) > 0:
			return failed(check, "close the bucket to everybody without credentials, and let the machine hand out none to processes of the engine",
				fmt.Errorf("an engine reaches the lake past the gate, %s", seen[0]))
		}
		return passed(check, "an engine finds no way to the lake but the gate")
	})
}

func seenBy(ctx context.Context, python string, l *lake.S3, name string) (seen []string, err error) {
	endpoint, region := l.Server()
	options := map[string]string{"aws_region": region, "allow_http": "true"}
	if endpoint != "" {
		options["aws_endpoint"] = endpoint
	}
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	said, err := engine.Alone(ctx, python, 0, reaches, l.URI()+"/"+ours, name, string(text))
	if err != nil {
		return nil, oneLine(err)
	}
	if err := json.Unmarshal([]byte(said), &seen); err != nil {
		return nil, fmt.Errorf("it answers %q: %w", said, err)
	}
	return seen, nil
}
