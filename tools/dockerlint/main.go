// dockerlint checks a Dockerfile by the rules of BuildKit itself, as `docker build --check` does, but without
// Docker and without a network: base images are taken to be there.
//
//	go -C tools run ./dockerlint ../deploy/Dockerfile
//
// It prints what is wrong, one line each, and ends with 1 if anything is.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	digest "github.com/opencontainers/go-digest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dockerlint DOCKERFILE")
		os.Exit(2)
	}
	wrong, err := check(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "dockerlint:", err)
		os.Exit(1)
	}
	for _, w := range wrong {
		fmt.Println(w)
	}
	if len(wrong) > 0 {
		os.Exit(1)
	}
}

// check lists what is wrong with a Dockerfile.
func check(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	source := llb.NewSourceMap(nil, path, "Dockerfile", text)
	source.Definition = &llb.Definition{} // there is no build that it would belong to
	found, err := dockerfile2llb.DockerfileLint(context.Background(), text, dockerfile2llb.ConvertOpt{
		SourceMap: source, MetaResolver: anyImage{},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var wrong []string
	if found.Error != nil {
		wrong = append(wrong, path+": "+found.Error.Message)
	}
	for _, w := range found.Warnings {
		line := int32(1)
		if w.Location != nil && len(w.Location.Ranges) > 0 {
			line = w.Location.Ranges[0].Start.Line
		}
		wrong = append(wrong, fmt.Sprintf("%s:%d: %s: %s", path, line, w.RuleName, w.Detail))
	}
	if !bytes.HasSuffix(text, []byte("\n")) || strings.Contains(string(text), "\r") {
		wrong = append(wrong, path+": its lines don't end with \\n")
	}
	return wrong, nil
}

// anyImage takes every image to be there, and to say nothing of itself.
type anyImage struct{}

func (anyImage) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	config := []byte(`{"architecture":"amd64","os":"linux","config":{"Env":["PATH=/usr/bin"]}}`)
	return ref, digest.FromBytes(config), config, nil
}
