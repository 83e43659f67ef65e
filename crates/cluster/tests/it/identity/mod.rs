//! Who is let in and what they may, asked at the server's door with credentials as clients and attackers show them.

mod bootstrap_roles;
mod bound_tokens;
mod front;
mod review_webhooks;
mod token_keys;
