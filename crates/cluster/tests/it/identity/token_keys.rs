//! Tokens of service accounts: the keys that sign them, and every way to forge one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use coracle_auth::Issuer;
use coracle_cluster::{ApiServerOptions, Cluster, IssuerSpec, ServiceAccountSpec, TokenLifetimes};
use http::Method;
use serde_json::{Value, json};

use super::front::{create, delete, done, review, server, token, token_request, who_am_i};

const RSA: &str = include_str!("../../keys/rsa.pem");
const P256: &str = include_str!("../../keys/p256.pem");
const P384: &str = include_str!("../../keys/p384.pem");
const P521: &str = include_str!("../../keys/p521.pem");

const ISSUER: &str = "https://issuer.example.com";
const BEFORE: &str = "https://before.example.com";

fn issuer(signing_key: &str, keys: &[String]) -> IssuerSpec {
    IssuerSpec {
        names: vec![ISSUER.to_owned(), BEFORE.to_owned()],
        signing_key: Some(signing_key.to_owned()),
        keys: keys.to_vec(),
        ..IssuerSpec::default()
    }
}

fn spec(issuer: IssuerSpec) -> ApiServerOptions {
    let service_accounts = ServiceAccountSpec { issuer, ..ServiceAccountSpec::default() };
    ApiServerOptions { service_accounts, ..ApiServerOptions::default() }
}

/// Claims for the account `robot` that count at this moment, for whoever issued them.
async fn claims(cluster: &Cluster, issuer: &str) -> Value {
    let account = done(cluster, Method::GET, "/api/v1/namespaces/default/serviceaccounts/robot", Value::Null).await;
    let now = cluster.ambient().clock.now().as_second();
    json!({
        "iss": issuer, "sub": "system:serviceaccount:default:robot", "aud": [ISSUER],
        "iat": now, "nbf": now, "exp": now + 3600,
        "kubernetes.io": {
            "namespace": "default", "serviceaccount": {"name": "robot", "uid": account["metadata"]["uid"]}
        }
    })
}

/// A server whose only key is one of P-256, with the account `robot`.
async fn with_robot(issuer: IssuerSpec) -> Cluster {
    let cluster = server(spec(issuer)).await;
    create(&cluster, "serviceaccounts", json!({"metadata": {"name": "robot"}})).await;
    cluster
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[tokio::test(start_paused = true)]
async fn tokens_of_every_key_and_every_issuer_are_accepted_and_all_keys_are_published() {
    let cluster = with_robot(issuer(RSA, &[format!("{RSA}{P384}"), format!("{P256}{P521}")])).await;
    for key in [RSA, P256, P384, P521] {
        for name in [ISSUER, BEFORE] {
            let signed = Issuer::new(&issuer(key, &[])).unwrap().sign(&claims(&cluster, name).await).unwrap();
            let answer = who_am_i(&cluster, &signed).await;
            assert_eq!(answer.code, 201, "{:?}", answer.body);
            assert_eq!(answer.body["status"]["userInfo"]["username"], "system:serviceaccount:default:robot");
        }
    }
    let own = token(&cluster, "robot", json!({})).await;
    assert_eq!(who_am_i(&cluster, &own).await.code, 201);
    let keys = done(&cluster, Method::GET, "/openid/v1/jwks", Value::Null).await;
    let algorithms: Vec<_> = keys["keys"].as_array().unwrap().iter().map(|key| key["alg"].clone()).collect();
    assert_eq!(algorithms, ["RS256", "ES384", "ES256", "ES512"]);
    let configuration = done(&cluster, Method::GET, "/.well-known/openid-configuration", Value::Null).await;
    assert_eq!(configuration["issuer"], ISSUER);
    let published = json!(["ES256", "ES384", "ES512", "RS256"]);
    assert_eq!(configuration["id_token_signing_alg_values_supported"], published);
}

#[tokio::test(start_paused = true)]
async fn a_token_signed_with_a_key_that_is_not_accepted_is_refused() {
    let cluster = with_robot(issuer(P256, &[])).await;
    let claims = claims(&cluster, ISSUER).await;
    for key in [RSA, P384, P521] {
        let forged = Issuer::new(&issuer(key, &[])).unwrap().sign(&claims).unwrap();
        assert_eq!(who_am_i(&cluster, &forged).await.code, 401);
        // The same under the name of the key that counts.
        let kid = done(&cluster, Method::GET, "/openid/v1/jwks", Value::Null).await["keys"][0]["kid"].clone();
        let (_, rest) = forged.split_once('.').unwrap();
        for algorithm in ["ES256", "RS256", "ES384", "ES512"] {
            let renamed = format!("{}.{rest}", encoded(&json!({"alg": algorithm, "kid": kid})));
            assert_eq!(who_am_i(&cluster, &renamed).await.code, 401, "{algorithm}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_without_a_signature_or_with_one_by_the_public_key_as_a_secret_is_refused() {
    let cluster = with_robot(issuer(RSA, &[])).await;
    let claims = claims(&cluster, ISSUER).await;
    let genuine = Issuer::new(&issuer(RSA, &[])).unwrap().sign(&claims).unwrap();
    assert_eq!(who_am_i(&cluster, &genuine).await.code, 201);
    let keys = done(&cluster, Method::GET, "/openid/v1/jwks", Value::Null).await;
    let kid = &keys["keys"][0]["kid"];
    let modulus = URL_SAFE_NO_PAD.decode(keys["keys"][0]["n"].as_str().unwrap()).unwrap();
    for secret in [modulus.as_slice(), keys["keys"][0]["n"].as_str().unwrap().as_bytes(), RSA.as_bytes(), b""] {
        for algorithm in ["HS256", "HS384", "HS512", "RS256"] {
            let signed = format!("{}.{}", encoded(&json!({"alg": algorithm, "kid": kid})), encoded(&claims));
            let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
            let signature = URL_SAFE_NO_PAD.encode(ring::hmac::sign(&key, signed.as_bytes()));
            assert_eq!(who_am_i(&cluster, &format!("{signed}.{signature}")).await.code, 401, "{algorithm}");
        }
    }
    for header in
        [json!({"alg": "none"}), json!({"alg": "None", "kid": kid}), json!({"alg": "", "kid": kid}), json!({})]
    {
        let unsigned = format!("{}.{}", encoded(&header), encoded(&claims));
        for token in [format!("{unsigned}."), unsigned.clone(), format!("{unsigned}.AA")] {
            assert_eq!(who_am_i(&cluster, &token).await.code, 401, "{header}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_the_token_brings_itself_is_not_used() {
    let cluster = with_robot(issuer(P256, &[])).await;
    let attacker = Issuer::new(&issuer(P384, &[])).unwrap();
    let jwk = &serde_json::from_slice::<Value>(&attacker.documents("https://a", None)[1].2).unwrap()["keys"][0];
    let signed = attacker.sign(&claims(&cluster, ISSUER).await).unwrap();
    let (_, rest) = signed.split_once('.').unwrap();
    for header in [json!({"alg": "ES384", "jwk": jwk}), json!({"alg": "ES384", "jku": "https://a/openid/v1/jwks"})] {
        assert_eq!(who_am_i(&cluster, &format!("{}.{rest}", encoded(&header))).await.code, 401);
    }
}

#[tokio::test(start_paused = true)]
async fn claims_that_were_changed_are_refused() {
    let cluster = with_robot(issuer(P256, &[])).await;
    let claims = claims(&cluster, ISSUER).await;
    let signed = Issuer::new(&issuer(P256, &[])).unwrap().sign(&claims).unwrap();
    let parts: Vec<&str> = signed.split('.').collect();
    let mut changed = claims;
    changed["sub"] = "system:serviceaccount:kube-system:default".into();
    assert_eq!(who_am_i(&cluster, &format!("{}.{}.{}", parts[0], encoded(&changed), parts[2])).await.code, 401);
}

#[tokio::test(start_paused = true)]
async fn a_token_for_others_of_another_time_issuer_or_account_is_refused() {
    let cluster = with_robot(issuer(P256, &[])).await;
    let signer = Issuer::new(&issuer(P256, &[])).unwrap();
    let good = claims(&cluster, ISSUER).await;
    let now = good["iat"].as_i64().unwrap();
    let other = create(&cluster, "serviceaccounts", json!({"metadata": {"name": "other"}})).await;
    let with = |path: &[&str], value: Value| {
        let mut claims = good.clone();
        *path.iter().fold(&mut claims, |at, step| &mut at[*step]) = value;
        signer.sign(&claims).unwrap()
    };
    assert_eq!(who_am_i(&cluster, &signer.sign(&good).unwrap()).await.code, 201);
    let uid = ["kubernetes.io", "serviceaccount", "uid"];
    for (what, token) in [
        ("audience", with(&["aud"], json!(["vault"]))),
        ("audience as text", with(&["aud"], json!("vault"))),
        ("expired", with(&["exp"], json!(now - 61))),
        ("without an end", with(&["exp"], Value::Null)),
        ("not yet", with(&["nbf"], json!(now + 61))),
        ("of the future", with(&["iat"], json!(now + 61))),
        ("issuer", with(&["iss"], json!("https://else.example.com"))),
        ("uid of another account", with(&uid, other["metadata"]["uid"].clone())),
        ("no uid", with(&uid, json!(""))),
        ("another namespace", with(&["kubernetes.io", "namespace"], json!("kube-system"))),
        ("no such account", with(&["kubernetes.io", "serviceaccount", "name"], json!("nobody"))),
        ("no claims", with(&["kubernetes.io"], Value::Null)),
    ] {
        let answer = who_am_i(&cluster, &token).await;
        assert_eq!((answer.code, answer.message()), (401, "Unauthorized"), "{what}");
    }
    let review = review(&cluster, &with(&["exp"], json!(now - 61)), &[]).await;
    assert_eq!(review["error"], "[invalid bearer token, service account token has expired]");
}

#[tokio::test(start_paused = true)]
async fn a_token_ends_in_time_and_with_its_account_even_if_one_of_the_same_name_comes() {
    let cluster = with_robot(issuer(P256, &[])).await;
    let short = token(&cluster, "robot", json!({"expirationSeconds": 600})).await;
    tokio::time::sleep(std::time::Duration::from_secs(660)).await;
    assert_eq!(who_am_i(&cluster, &short).await.code, 201, "clocks may be a minute apart");
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!(who_am_i(&cluster, &short).await.code, 401);
    let long = token(&cluster, "robot", json!({})).await;
    delete(&cluster, "serviceaccounts", "robot").await;
    assert_eq!(who_am_i(&cluster, &long).await.code, 401);
    create(&cluster, "serviceaccounts", json!({"metadata": {"name": "robot"}})).await;
    assert_eq!(who_am_i(&cluster, &long).await.code, 401);
}

#[tokio::test(start_paused = true)]
async fn tokens_are_for_the_audiences_of_the_api_and_last_no_longer_than_is_allowed() {
    let issuer = IssuerSpec { audiences: vec!["api".to_owned(), "kube".to_owned()], ..issuer(P256, &[]) };
    let lifetimes = TokenLifetimes { most: Some(3600), extend: true };
    let service_accounts = ServiceAccountSpec { issuer, lifetimes, ..ServiceAccountSpec::default() };
    let cluster = server(ApiServerOptions { service_accounts, ..ApiServerOptions::default() }).await;
    create(&cluster, "serviceaccounts", json!({"metadata": {"name": "robot"}})).await;
    let answer = token_request(&cluster, "robot", json!({"expirationSeconds": 7200})).await;
    assert_eq!(answer.body["spec"]["audiences"], json!(["api", "kube"]));
    assert_eq!(answer.body["spec"]["expirationSeconds"], 3600);
    assert_eq!(answer.headers["warning"], "299 - \"requested expiration of 7200 seconds shortened to 3600 seconds\"");
    let own = answer.body["status"]["token"].as_str().unwrap();
    assert_eq!(who_am_i(&cluster, own).await.code, 201);
    assert_eq!(review(&cluster, own, &["kube", "vault"]).await["audiences"], json!(["kube"]));
    let foreign = token(&cluster, "robot", json!({"audiences": [ISSUER]})).await;
    assert_eq!(who_am_i(&cluster, &foreign).await.code, 401, "the issuer's name is no audience here");
    assert_eq!(review(&cluster, &foreign, &[ISSUER]).await["authenticated"], true);
}

#[tokio::test(start_paused = true)]
async fn a_request_for_a_token_names_no_other_account() {
    let cluster = with_robot(issuer(P256, &[])).await;
    let ask = |metadata: Value| {
        let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": metadata});
        super::front::admin(&cluster, Method::POST, "/api/v1/namespaces/default/serviceaccounts/robot/token", body)
    };
    let named = ask(json!({"name": "other"})).await;
    assert_eq!(
        (named.code, named.message()),
        (
            422,
            "TokenRequest.authentication.k8s.io \"robot\" is invalid: metadata.name: Invalid value: \"other\": must match the service account name if specified"
        )
    );
    let with_uid = ask(json!({"uid": "u"})).await;
    assert_eq!(with_uid.code, 409, "{:?}", with_uid.body);
    assert!(with_uid.message().contains("the UID in the token request (u) does not match the UID of the service"));
}
