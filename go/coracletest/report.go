package coracletest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// reportIfFailed writes the page of the run of a test that has failed, and logs its path.
func (e *Env) reportIfFailed() {
	if !e.t.Failed() {
		return
	}
	path, err := e.writeReport()
	if err != nil {
		e.t.Logf("coracletest: cannot write the page of the run: %v", err)
		return
	}
	e.t.Logf("coracletest: the page of the run: %s", path)
}

func (e *Env) writeReport() (string, error) {
	ctx, cancel := e.context()
	defer cancel()
	page, err := e.Control.Report(ctx)
	if err != nil {
		return "", err
	}
	name := fileName(e.t.Name())
	if e.forkName != "" {
		name += "-" + e.forkName
	}
	folder := e.reports()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(folder, fmt.Sprintf("coracle-%s-*.html", name))
	if err != nil {
		return "", err
	}
	_, err = file.Write(page)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return filepath.Clean(file.Name()), err
}

// reports is the folder for pages. Without -artifacts, the artifact folder of a test is removed when the test ends.
func (e *Env) reports() string {
	if e.options.Reports != "" {
		return e.options.Reports
	}
	kept := flag.Lookup("test.artifacts")
	if t, ok := e.t.(interface{ ArtifactDir() string }); ok && kept != nil && kept.Value.String() == "true" {
		return t.ArtifactDir()
	}
	return os.TempDir()
}

// fileName is the name of a test without characters that are special in paths.
func fileName(test string) string {
	name := strings.Map(func(char rune) rune {
		switch {
		case 'a' <= char && char <= 'z', 'A' <= char && char <= 'Z', '0' <= char && char <= '9', char == '-', char == '_':
			return char
		}
		return '-'
	}, test)
	const longest = 100
	return name[:min(len(name), longest)]
}
