module coracle.test/operator-suites

go 1.26.0

require (
	github.com/cert-manager/trust-manager v0.25.0
	sigs.k8s.io/kueue v0.17.0
)
