package main

// RootCommand is the tree of commands, for tests that check what is said about its flags.
var RootCommand = rootCommand

// Patience is how long a process that is told to end lets a merge go on.
const Patience = patience

// Variables are those of the environment that this program reads by itself.
var Variables = []string{ownedEnv, drainEnv, gateKeyEnv, gateSecretEnv, etcdPasswordEnv}
