import Foundation
import Testing
import TillCrypto

@Suite("OCSP: what an authority says about its certificates (RFC 6960)") struct OCSPTests {
    @Test("A certificate names the address of its OCSP responder; one without an address names none")
    func url() throws {
        let authority = try OCSPAuthority()
        #expect(try authority.question().responderURL == OCSPAuthority.url)
        let root = try OCSPAuthority.certificate(authority.root)
        #expect(OCSPRequest(certificate: root, issuer: root).responderURL == nil)
        for url in [
            "https://ocsp.example.com/", "ldap://x/", "http://x/ y", "http://" + String(repeating: "x", count: 1_100),
        ] {
            let odd = try authority.intermediate.issue(
                OCSPAuthority.template("Odd", 7, 0...9_000_000_000, .signer, url: url), key: .generate(.p256))
            let question = OCSPRequest(
                certificate: try OCSPAuthority.certificate(odd),
                issuer: try OCSPAuthority.certificate(authority.intermediate))
            #expect(question.responderURL == nil, "\(url.prefix(40))")
        }
    }

    @Test("OpenSSL reads the request: one certificate, by hashes and serial, with the nonce if there is one")
    func request() throws {
        let authority = try OCSPAuthority()
        let question = try authority.question()
        func text(_ request: [UInt8]?) throws -> String {
            try authority.write("ours.der", try #require(request))
            return try authority.openssl(["ocsp", "-reqin", "ours.der", "-req_text"])
        }
        let plain = try text(question.request())
        #expect(plain.contains("Serial Number: \(OCSPAuthority.serial)"), "\(plain)")
        #expect(plain.contains("Hash Algorithm: sha1"))
        #expect(plain.components(separatedBy: "Certificate ID:").count == 2)
        #expect(!plain.contains("Nonce"))
        let bound = try text(question.request(nonce: [UInt8](1...16)))
        #expect(bound.contains("OCSP Nonce") && bound.contains("0102030405060708090A0B0C0D0E0F10"), "\(bound)")
        // The request equals OpenSSL's own, byte for byte.
        try authority.write("ca.pem", Array(OCSPAuthority.pem(authority.intermediate).utf8))
        try authority.write("signer.pem", Array(OCSPAuthority.pem(authority.signer).utf8))
        _ = try authority.openssl([
            "ocsp", "-issuer", "ca.pem", "-cert", "signer.pem", "-no_nonce", "-reqout", "theirs.der",
        ])
        let theirs = try Data(contentsOf: authority.folder.appendingPathComponent("theirs.der"))
        #expect(question.request() == Array(theirs))
    }

    @Test("Good, revoked with date and reason, and unknown are read from OpenSSL's responder")
    func answers() throws {
        let authority = try OCSPAuthority()
        let question = try authority.question()
        let request = try #require(question.request())
        let good = question.result(in: try authority.respond(to: request), at: authority.now)
        guard case .good(let until?) = good else {
            Issue.record("\(good)")
            return
        }
        #expect((3_590...3_610).contains(until - authority.now))
        let endless = try authority.respond(to: request, .valid, [])
        #expect(question.result(in: endless, at: authority.now) == .good(until: nil))
        let reasons: [(String?, CRLReason?)] = [
            (nil, nil), ("keyCompromise", .keyCompromise), ("CACompromise", .authorityCompromise),
            ("superseded", .superseded), ("cessationOfOperation", .cessationOfOperation),
            ("affiliationChanged", .affiliationChanged),
        ]
        for (name, reason) in reasons {
            let response = try authority.respond(to: request, .revoked(reason: name))
            // 2025-06-01T00:00:00Z
            #expect(question.result(in: response, at: authority.now) == .revoked(at: 1_748_736_000, reason: reason))
        }
        let unheardOf = try authority.respond(to: request, .unheardOf)
        #expect(question.result(in: unheardOf, at: authority.now) == .unknown(.unknownCertificate))
    }

    @Test("The issuer may answer itself, with or without its certificate in the response")
    func issuerAnswers() throws {
        let authority = try OCSPAuthority()
        let question = try authority.question()
        let request = try #require(question.request())
        for more in [["-nmin", "60"], ["-nmin", "60", "-resp_no_certs"], ["-nmin", "60", "-resp_key_id"]] {
            let response = try authority.respond(to: request, signing: authority.intermediate, more)
            guard case .good = question.result(in: response, at: authority.now) else {
                Issue.record("\(more): \(question.result(in: response, at: authority.now))")
                continue
            }
        }
    }

    @Test("An answer of a responder that the issuer did not delegate is not trusted, neither good nor revoked")
    func wrongSigners() throws {
        let authority = try OCSPAuthority()
        let other = try OCSPAuthority()
        let question = try authority.question()
        let request = try #require(question.request())
        let validity = authority.now - 100...authority.now + 10_000
        // Issued by the issuer for another purpose; above the issuer; of another authority; self-signed; expired.
        let strangers: [(String, SigningIdentity)] = [
            ("the signer itself", authority.signer),
            ("the root", authority.root),
            (
                "a responder of the root",
                try authority.root.issue(
                    OCSPAuthority.template("Responder", 9, validity, .responder), key: .generate(.p256))
            ),
            ("another authority's responder", other.responder), ("another authority", other.intermediate),
            (
                "a responder below the signer",
                try authority.signer.issue(
                    OCSPAuthority.template("Responder", 9, validity, .responder), key: .generate(.p256))
            ),
            (
                "self-made",
                try SigningIdentity.root(
                    OCSPAuthority.template("Responder", 4, validity, .responder), key: .generate(.p256))
            ),
            (
                "expired",
                try authority.intermediate.issue(
                    OCSPAuthority.template("Responder", 9, authority.now - 200...authority.now - 100, .responder),
                    key: .generate(.p256))
            ),
        ]
        for status in [OCSPAuthority.Status.valid, .revoked(reason: "keyCompromise")] {
            for (name, stranger) in strangers {
                let response = try authority.respond(to: request, status, signing: stranger)
                #expect(question.result(in: response, at: authority.now) == .unknown(.untrustedResponder), "\(name)")
            }
        }
    }

    @Test("An answer is valid for its own period, with five minutes of clock difference, and for its own certificate")
    func timesAndNames() throws {
        let authority = try OCSPAuthority()
        let question = try authority.question()
        let request = try #require(question.request())
        for status in [OCSPAuthority.Status.valid, .revoked(reason: nil)] {
            let hour = try authority.respond(to: request, status)
            let endless = try authority.respond(to: request, status, [])
            func failure(_ response: [UInt8], after seconds: Int64) -> OCSPFailure? {
                guard case .unknown(let failure) = question.result(in: response, at: authority.now + seconds) else {
                    return nil
                }
                return failure
            }
            #expect(failure(hour, after: 3_600 + 200) == nil)
            #expect(failure(hour, after: 3_600 + 400) == .stale)
            #expect(failure(hour, after: -200) == nil)
            #expect(failure(hour, after: -400) == .early)
            #expect(failure(endless, after: 86_000) == nil)
            #expect(failure(endless, after: 87_000) == .stale)

            // An answer of the same authority about another certificate, replayed.
            let sibling = try authority.intermediate.issue(
                OCSPAuthority.template("Sibling", 8, authority.now - 100...authority.now + 10_000, .signer),
                key: .generate(.p256))
            let other = OCSPRequest(certificate: try OCSPAuthority.certificate(sibling), issuer: question.issuer)
            #expect(other.result(in: hour, at: authority.now) == .unknown(.otherCertificate))
        }
    }

    @Test("A repeated nonce binds the answer; an answer without a nonce is accepted, one with another nonce is not")
    func nonce() throws {
        let authority = try OCSPAuthority()
        let question = try authority.question()
        let nonce = [UInt8](1...16)
        let bound = try authority.respond(to: try #require(question.request(nonce: nonce)))
        let unbound = try authority.respond(to: try #require(question.request()))
        func isGood(_ response: [UInt8], _ nonce: [UInt8]?) -> Bool {
            if case .good = question.result(in: response, nonce: nonce, at: authority.now) { true } else { false }
        }
        #expect(isGood(bound, nonce) && isGood(bound, nil) && isGood(unbound, nonce) && isGood(unbound, nil))
        let other = [UInt8](2...17)
        #expect(question.result(in: bound, nonce: other, at: authority.now) == .unknown(.otherNonce))
    }

    @Test("Error responses, web pages, and truncated, extended or altered answers give no result")
    func garbage() throws {
        let authority = try OCSPAuthority()
        let question = try authority.question()
        let request = try #require(question.request())
        func answer(_ bytes: [UInt8]) -> OCSPStatus { question.result(in: bytes, at: authority.now) }
        // OCSPResponse { responseStatus }, unsigned (RFC 6960 §4.2.1).
        let excuses: [(UInt8, OCSPFailure)] = [
            (1, .malformedRequest), (2, .responderFault), (3, .tryLater), (5, .signatureRequired), (6, .unauthorized),
            (4, .malformed), (0, .malformed), (99, .malformed),
        ]
        for (code, failure) in excuses { #expect(answer([0x30, 3, 0x0A, 1, code]) == .unknown(failure)) }
        let page = Array("<html><body>Service Unavailable</body></html>".utf8)
        for bytes in [[], [0x30], [0x30, 0x80], page, [UInt8](repeating: 0, count: 1_000)] {
            #expect(answer(bytes) == .unknown(.malformed))
        }
        #expect(answer([UInt8](repeating: 0x30, count: 70_000)) == .unknown(.tooLarge))
        for status in [OCSPAuthority.Status.valid, .revoked(reason: "keyCompromise")] {
            let genuine = try authority.respond(to: request, status)
            let verdict = answer(genuine)
            #expect(answer(genuine + [0]) == .unknown(.malformed))
            for count in stride(from: 0, to: genuine.count, by: 7) {
                #expect(answer(Array(genuine.prefix(count))) == .unknown(.malformed))
            }
            var changed = 0
            for position in genuine.indices {
                var altered = genuine
                altered[position] ^= 1 << (position % 8)
                // Bytes that are neither signed nor read (an algorithm's parameters, another certificate) may change.
                switch answer(altered) {
                case verdict: changed += 1
                case .unknown: break
                case let other: Issue.record("byte \(position): \(other)")
                }
            }
            #expect(changed < genuine.count / 3, "\(changed) of \(genuine.count) bytes do not matter")
        }
    }
}
