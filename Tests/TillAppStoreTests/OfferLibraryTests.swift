import Foundation
import Testing
import TillBilling
import TillCrypto

@testable import TillAppStore

/// Till's offers, checked by independent implementations: Apple's own library builds the message, and Python's
/// `cryptography`, PyJWT and the command `openssl` check the signatures.
@Suite("Offers, checked by Apple's library", .enabled(if: OfferPython.isInstalled, OfferPython.isMissing))
struct OfferLibraryTests {
    // MARK: Questions and answers

    private struct Question: Encodable {
        let issuer = OfferKey.issuerID
        let keyId = OfferKey.keyID
        let bundleId = OfferKey.bundleID
        let privateKey: String
        var signatures: [Signature] = []
        var tokens: [Token] = []
    }

    private struct Signature: Encodable {
        let productId: String
        let offerId: String
        /// As the app writes it, not in lower case.
        let account: String
        let nonce: String
        let timestamp: Int64
        let signature: String
    }

    private struct Token: Encodable {
        let kind: String
        let token: String
        var productId: String?
        var offerId: String?
        var allowed: Bool?
        var transactionId: String?
        var request: String?
    }

    struct Answer: Decodable, Sendable {
        struct Signature: Decodable, Sendable {
            let message: String
            let cryptography: Bool
            let openssl: Bool
            /// The fields that could be changed without breaking the signature.
            let changeable: [String]
        }

        struct Token: Decodable, Sendable {
            let kind: String
            let header: [String: String]
            let theirHeader: [String: String]
            /// The names of claims that differ from the library's, `nonce` and `iat` left out.
            let differing: [String]
            let claims: [String]
            let issued: Int64
            let refusesAltered: Bool
            let refusesOtherAudience: Bool
        }

        let signatures: [Signature]
        let tokens: [Token]
    }

    private static let script = """
        import base64, json, subprocess, uuid
        import jwt
        from attrs import define
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
        from appstoreserverlibrary import jws_signature_creator as jws
        from appstoreserverlibrary.promotional_offer import PromotionalOfferSignatureCreator

        asked = json.load(open("question.json", encoding="utf-8"))
        pem = asked["privateKey"].encode()
        public = serialization.load_pem_private_key(pem, password=None).public_key()
        with open("public.pem", "wb") as file:
            file.write(public.public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))

        class Listener:
            \"""Takes the place of the library's key, to hear what it would sign.\"""
            def sign(self, message, algorithm):
                assert isinstance(algorithm, ECDSA) and isinstance(algorithm.algorithm, hashes.SHA256)
                self.message = message
                return b""

        def their_message(offer, key_id=asked["keyId"], bundle_id=asked["bundleId"]):
            creator = PromotionalOfferSignatureCreator(pem, key_id, bundle_id)
            creator._signing_key = Listener()
            creator.create_signature(offer["productId"], offer["offerId"], offer["account"],
                                     uuid.UUID(offer["nonce"]), offer["timestamp"])
            return creator._signing_key.message

        def verifies(signature, message):
            try:
                public.verify(signature, message, ECDSA(hashes.SHA256()))
                return True
            except InvalidSignature:
                return False

        def check_signature(offer):
            message = their_message(offer)
            signature = base64.b64decode(offer["signature"], validate=True)
            with open("message", "wb") as file: file.write(message)
            with open("signature", "wb") as file: file.write(signature)
            ran = subprocess.run(
                ["openssl", "dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "message"],
                capture_output=True)
            changed = {
                "bundleId": their_message(offer, bundle_id="com.example.other"),
                "keyId": their_message(offer, key_id="OTHERKEY00"),
                "timestamp": their_message({**offer, "timestamp": offer["timestamp"] + 1}),
                "nonce": their_message({**offer, "nonce": str(uuid.uuid4())}),
            }
            for name in ("productId", "offerId", "account"):
                changed[name] = their_message({**offer, name: offer[name] + "x"})
            return {
                "message": message.decode(), "cryptography": verifies(signature, message),
                "openssl": ran.returncode == 0 and ran.stdout == b"Verified OK\\n",
                "changeable": sorted(name for name, other in changed.items() if verifies(signature, other)),
            }

        @define
        class Request(jws.AdvancedCommerceAPIInAppRequest):
            operation: str
            version: str

        def their_token(given):
            names = {"promotional": jws.PromotionalOfferV2SignatureCreator,
                     "introductory": jws.IntroductoryOfferEligibilitySignatureCreator,
                     "advanced": jws.AdvancedCommerceAPIInAppSignatureCreator}
            creator = names[given["kind"]](pem, asked["keyId"], asked["issuer"], asked["bundleId"])
            if given["kind"] == "promotional":
                inputs = given["productId"], given["offerId"], given.get("transactionId")
            elif given["kind"] == "introductory":
                inputs = given["productId"], given["allowed"], given["transactionId"]
            else:
                inputs = (Request(**json.loads(given["request"])),)
            return creator._audience, creator.create_signature(*inputs)

        def claims(token, audience):
            return jwt.decode(token, public, algorithms=["ES256"], audience=audience, issuer=asked["issuer"],
                              options={"require": ["iss", "iat", "aud"]})

        def is_refused(token, audience):
            try:
                claims(token, audience)
                return False
            except jwt.InvalidTokenError:
                return True

        def read(name, value):
            return json.loads(base64.b64decode(value, validate=True)) if name == "request" else value

        def check_token(given):
            audience, theirs = their_token(given)
            own, other = claims(given["token"], audience), claims(theirs, audience)
            uuid.UUID(own["nonce"])
            head, payload, signature = given["token"].split(".")
            swapped = payload[:10] + ("A" if payload[10] != "A" else "B") + payload[11:]
            return {
                "kind": given["kind"], "header": jwt.get_unverified_header(given["token"]),
                "theirHeader": jwt.get_unverified_header(theirs), "claims": sorted(own), "issued": own["iat"],
                "differing": sorted(
                    name for name in own.keys() | other.keys() if name not in ("nonce", "iat")
                    and (name not in own or name not in other or read(name, own[name]) != read(name, other[name]))),
                "refusesAltered": is_refused(".".join([head, swapped, signature]), audience),
                "refusesOtherAudience": is_refused(given["token"], "another"),
            }

        print(json.dumps({"signatures": [check_signature(offer) for offer in asked["signatures"]],
                          "tokens": [check_token(token) for token in asked["tokens"]]}))
        """

    // MARK: One question for all tests

    private static let monthly = "com.example.learn.member.monthly"
    private static let accounts = ["", "3F2C91AB-6D0E-4B57-9A43-0C5D8E1F2A64", "Ann@Example.com", "安娜"]
    private static let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))

    private static let answer = Result {
        let key = try OfferKey()
        let signer = try key.signer(at: now)
        var question = Question(privateKey: try key.privateKey.pem())
        for account in accounts {
            let offer = try PromotionalOffer(
                productID: ProductID(monthly), offerID: "Welcome-Back.1", account: account)
            let signed = try signer.signature(for: offer)
            question.signatures.append(
                Signature(
                    productId: monthly, offerId: "Welcome-Back.1", account: account, nonce: signed.nonce.description,
                    timestamp: signed.timestamp.milliseconds, signature: signed.signature))
        }
        for transaction in [nil, "2000000356937285"] {
            let offer = try PromotionalOffer(
                productID: ProductID(monthly), offerID: "Welcome-Back.1",
                transactionID: transaction.map(TransactionID.init))
            question.tokens.append(
                Token(
                    kind: "promotional", token: try signer.token(for: offer), productId: monthly,
                    offerId: "Welcome-Back.1", transactionId: transaction))
        }
        for isAllowed in [true, false] {
            let eligibility = try IntroductoryEligibility(
                productID: ProductID(monthly), isAllowed: isAllowed, transactionID: TransactionID("71134"))
            question.tokens.append(
                Token(
                    kind: "introductory", token: try signer.token(for: eligibility), productId: monthly,
                    allowed: isAllowed, transactionId: "71134"))
        }
        let request = #"{"operation":"CREATE_ONE_TIME_CHARGE","version":"1"}"#
        let advanced = try signer.token(for: AdvancedCommerceRequest(json: Array(request.utf8)))
        question.tokens.append(Token(kind: "advanced", token: advanced, request: request))
        return try OfferPython.answer(of: script, to: question, as: Answer.self)
    }

    // MARK: Tests

    @Test("The library's message for a classic offer, with any account, is the signed one, and no field can be changed")
    func classic() throws {
        let checked = try Self.answer.get().signatures
        #expect(checked.count == Self.accounts.count)
        for (signature, account) in zip(checked, Self.accounts) {
            #expect(signature.cryptography, "\(account)")
            #expect(signature.openssl, "\(account)")
            #expect(signature.changeable.isEmpty, "\(account)")
            let fields = signature.message.split(separator: "\u{2063}", omittingEmptySubsequences: false)
            #expect(fields.count == 7 && fields[4] == account.lowercased())
        }
    }

    @Test(
        "The library's tokens for promotional, introductory and Advanced Commerce offers have equal claims and headers")
    func tokens() throws {
        let checked = try Self.answer.get().tokens
        #expect(checked.map(\.kind) == ["promotional", "promotional", "introductory", "introductory", "advanced"])
        for token in checked {
            #expect(token.differing.isEmpty, "\(token.kind): \(token.differing)")
            #expect(token.header == token.theirHeader)
            #expect(token.header == ["alg": "ES256", "kid": OfferKey.keyID, "typ": "JWT"])
            #expect(token.issued == Self.now.seconds)
        }
        let common = ["aud", "bid", "iat", "iss", "nonce"]
        #expect(checked[0].claims == (common + ["offerIdentifier", "productId"]).sorted())
        #expect(checked[1].claims == (common + ["offerIdentifier", "productId", "transactionId"]).sorted())
        #expect(checked[3].claims == (common + ["allowIntroductoryOffer", "productId", "transactionId"]).sorted())
        #expect(checked[4].claims == (common + ["request"]).sorted())
    }

    @Test("PyJWT refuses each token after a letter changes, and for any other audience")
    func alteredTokens() throws {
        let checked = try Self.answer.get().tokens
        #expect(checked.count == 5)
        #expect(checked.allSatisfy { $0.refusesAltered && $0.refusesOtherAudience })
    }
}
