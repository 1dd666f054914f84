package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rule is one line of rules.txt.
type rule struct {
	Name     string
	Package  string
	Tests    string // what -run takes
	Sentence string
}

// matches reports whether a test is one of those that guard the rule.
func (r rule) matches(test string) bool {
	top, _, _ := strings.Cut(test, "/")
	for _, one := range strings.Split(r.Tests, "|") {
		first, _, _ := strings.Cut(one, "/")
		if matched, err := regexp.MatchString(first, top); err == nil && matched {
			return true
		}
	}
	return false
}

func readRules(path string) ([]rule, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rules, err := parseRules(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rules, nil
}

// complete checks that the rules are exactly the names that the code can leave out: a name without a line
// would never be tried, a line without a name would take out nothing.
func complete(rules []rule, namesPath string) error {
	source, err := os.ReadFile(namesPath)
	if err != nil {
		return err
	}
	names, err := parseNames(source)
	if err != nil {
		return fmt.Errorf("%s: %w", namesPath, err)
	}
	var problems []error
	listed := map[string]bool{}
	for _, r := range rules {
		listed[r.Name] = true
		if !names[r.Name] {
			problems = append(problems, fmt.Errorf("the rule %s is not in %s", r.Name, namesPath))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !listed[name] {
			problems = append(problems, fmt.Errorf("no test guards the rule %s of %s", name, namesPath))
		}
	}
	return errors.Join(problems...)
}

func parseRules(text string) ([]rule, error) {
	var rules []rule
	seen := map[string]bool{}
	for number, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 {
			return nil, fmt.Errorf("line %d has %d fields, expected name, package, tests and sentence between tabs", number+1, len(fields))
		}
		r := rule{fields[0], fields[1], fields[2], fields[3]}
		if _, err := regexp.Compile(r.Tests); err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		if seen[r.Name] {
			return nil, fmt.Errorf("line %d names %s again", number+1, r.Name)
		}
		seen[r.Name] = true
		rules = append(rules, r)
	}
	return rules, nil
}

// parseNames returns the values of the constants of type Name.
func parseNames(source []byte) (map[string]bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, declaration := range file.Decls {
		constants, ok := declaration.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			for _, value := range spec.(*ast.ValueSpec).Values {
				literal, ok := value.(*ast.BasicLit)
				if !ok {
					return nil, fmt.Errorf("a name that is not a literal")
				}
				name, err := strconv.Unquote(literal.Value)
				if err != nil {
					return nil, err
				}
				names[name] = true
			}
		}
	}
	return names, nil
}

func choose(rules []rule, only string) ([]rule, error) {
	if only == "" {
		return rules, nil
	}
	for _, r := range rules {
		if r.Name == only {
			return []rule{r}, nil
		}
	}
	return nil, fmt.Errorf("no rule is named %s", only)
}
