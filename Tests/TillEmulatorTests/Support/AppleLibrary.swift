import Foundation
import Testing

/// The Python environment with Tests/requirements.txt (`make deps`), and the scripts that run Apple's library in it.
enum AppleLibrary {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let python = package.appendingPathComponent(".build/python/bin/python").path

    /// True only for a complete installation of the current list: a copy of the list is written last.
    static let isInstalled = FileManager.default.contentsEqual(
        atPath: package.appendingPathComponent("Tests/requirements.txt").path,
        andPath: package.appendingPathComponent(".build/python/requirements.txt").path)
    static let isMissing: Comment = "Tests/requirements.txt is not installed in .build/python: make deps"

    /// Runs a script in a directory; returns its output, which is one JSON text.
    static func run<Answer: Decodable>(
        _ name: String, _ arguments: [String] = [], in directory: URL, as type: Answer.Type
    ) throws -> Answer {
        try run(name, source: try #require(scripts[name]), arguments, in: directory, as: type)
    }

    static func run<Answer: Decodable>(
        _ name: String, source: String, _ arguments: [String] = [], in directory: URL, as type: Answer.Type
    ) throws -> Answer {
        let script = directory.appendingPathComponent("\(name).py")
        try Data(source.utf8).write(to: script)
        let ran = try TillEmulatorTests.run([python, "-I", "-W", "ignore", script.path] + arguments, in: directory)
        try #require(ran.status == 0, "\(ran.output)")
        return try JSONDecoder().decode(type, from: Data(ran.output.utf8))
    }

    private static let scripts = ["verify": verify, "receipts": receipts, "client": client, "bearer": bearer]

    /// Verifies every proof of proofs.json, and compares the decoded members with the signed ones.
    private static let verify = """
        import base64, json, sys
        from enum import Enum
        from appstoreserverlibrary.models.Environment import Environment
        from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException

        environment = Environment(sys.argv[1])
        verifier = SignedDataVerifier([open("root.cer", "rb").read()], False, environment, "com.example.learnpoints",
                                      690661663 if environment == Environment.PRODUCTION else None)
        read = {
            "transaction": verifier.verify_and_decode_signed_transaction,
            "renewal": verifier.verify_and_decode_renewal_info,
            "notification": verifier.verify_and_decode_notification,
            "apptransaction": verifier.verify_and_decode_app_transaction,
        }

        def content(token):
            part = token.split(".")[1]
            return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))

        def compared(decoded, signed, prefix=""):
            fields, differing = 0, []
            for name, value in signed.items():
                found = getattr(decoded, name, None)
                if isinstance(value, dict) and found is not None:
                    more, others = compared(found, value, prefix + name + ".")
                    fields, differing = fields + more, differing + others
                    continue
                fields += 1
                if (found.value if isinstance(found, Enum) else found) != value:
                    differing.append(prefix + name)
            return fields, differing

        checked = []
        for proof in json.load(open("proofs.json", encoding="utf-8")):
            answer = {"name": proof["name"], "status": "OK", "fields": 0, "differing": []}
            try:
                decoded = read[proof["kind"]](proof["token"])
                answer["fields"], answer["differing"] = compared(decoded, content(proof["token"]))
            except VerificationException as refused:
                answer["status"] = refused.status.name
            checked.append(answer)
        print(json.dumps(checked))
        """

    private static let receipts = """
        import json
        from appstoreserverlibrary.receipt_utility import ReceiptUtility
        texts = [open(name, encoding="utf-8").read() for name in ("receipt", "empty")]
        found = [ReceiptUtility().extract_transaction_id_from_app_receipt(text) for text in texts]
        old = open("old", encoding="utf-8").read()
        print(json.dumps(found + [ReceiptUtility().extract_transaction_id_from_transaction_receipt(old)]))
        """

    private static let client = """
        import json, sys
        from appstoreserverlibrary.api_client import APIException, AppStoreServerAPIClient
        from appstoreserverlibrary.models.Environment import Environment
        from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

        base, transaction = sys.argv[1:3]
        key = json.load(open("key.json"))
        client = AppStoreServerAPIClient(
            key["privateKey"].encode(), key["keyId"], key["issuerId"], key["bundleId"], Environment.SANDBOX)
        client._base_url = base
        verifier = SignedDataVerifier([open("root.cer", "rb").read()], False, Environment.SANDBOX, key["bundleId"])
        heard = []
        info = client.get_transaction_info(transaction)
        heard.append(verifier.verify_and_decode_signed_transaction(info.signedTransactionInfo).transactionId)
        for call in (lambda: client.get_transaction_info("1"), client.request_test_notification):
            try:
                call()
                heard.append("accepted")
            except APIException as refused:
                heard.append(f"{refused.http_status_code} {refused.api_error.name}")
        client.finish_transaction(transaction)
        heard.append("finished")
        print(json.dumps(heard))
        """

    private static let bearer = """
        import json
        import jwt
        from appstoreserverlibrary.api_client import AppStoreServerAPIClient
        from appstoreserverlibrary.models.Environment import Environment
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        token, key = open("token").read(), json.load(open("key.json"))
        pem = key["privateKey"].encode()
        public = serialization.load_pem_private_key(pem, password=None).public_key()
        client = AppStoreServerAPIClient(pem, key["keyId"], key["issuerId"], key["bundleId"], Environment.SANDBOX)
        headers = client._get_headers()
        theirs = headers["Authorization"].removeprefix("Bearer ")

        def claims(text, public=public, audience="appstoreconnect-v1", issuer=key["issuerId"]):
            return jwt.decode(text, public, algorithms=["ES256"], audience=audience, issuer=issuer,
                              options={"require": ["iss", "exp", "aud", "bid"]})

        own, other = claims(token), claims(theirs)
        head, payload, signature = token.split(".")
        altered = ".".join([head, payload[:20] + ("A" if payload[20] != "A" else "B") + payload[21:], signature])
        attempts = {
            "altered": lambda: claims(altered), "another audience": lambda: claims(token, audience="another"),
            "another issuer": lambda: claims(token, issuer="another"),
            "another key": lambda: claims(token, public=ec.generate_private_key(ec.SECP256R1()).public_key()),
        }
        refused = []
        for name, attempt in attempts.items():
            try:
                attempt()
            except jwt.InvalidTokenError:
                refused.append(name)
        print(json.dumps({
            "header": jwt.get_unverified_header(token), "theirHeader": jwt.get_unverified_header(theirs),
            "lifetime": own["exp"] - own["iat"], "issued": own["iat"], "refused": refused,
            "differing": sorted(name for name in own.keys() | other.keys()
                                if name != "exp" and own.get(name) != other.get(name)),
            "theirHeaders": [f"{name}: " + value.removesuffix(theirs) for name, value in headers.items()],
        }))
        """
}
