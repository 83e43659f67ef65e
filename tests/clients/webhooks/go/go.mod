module coracle.dev/webhooks

go 1.24
