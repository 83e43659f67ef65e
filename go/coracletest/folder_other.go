//go:build !unix || solaris || aix

package coracletest

// isLeftOver finds nothing on this operating system.
func isLeftOver(string) bool { return false }
