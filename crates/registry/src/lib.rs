//! What create, get, list, watch, update, patch, apply and delete mean, for any kind.
