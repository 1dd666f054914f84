// Package engine runs pylance in supervised subprocesses: one process for one execution, which merges what
// it is told to and exits.
//
// The Python program is embedded (see python/) and holds no decision of the protocol: which generations are
// merged, and whether a commit may land, is decided by the worker and its gate. So killing an engine at any
// moment is safe. At worst it leaves files that no manifest names.
//
// The two talk in JSON lines over stdin and stdout (message.go; its twin is python/sluice_engine/wire.py):
//
//	engine → worker  ready                  lance is imported; the process stands by
//	worker → engine  job                    what to merge, with the credentials for it
//	engine → worker  progress, progress, …  work that is completed, counted from the start
//	engine → worker  plan                   how it will commit; it waits
//	worker → engine  go                     the gate knows the plan; commit
//	engine → worker  done or failed         the last message
//
// Credentials go over stdin only, never into arguments or the environment, which is made from an allow-list.
// Every process has its own process group, a memory limit, and dies with the worker, however that dies: the
// kernel kills it (parent-death signal) and it ends by itself when its stdin closes.
package engine
