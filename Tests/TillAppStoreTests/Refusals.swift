import Foundation
import TillAppStore
import TillCrypto

/// The verdict of a failed verification; nil if it succeeds.
func refusal<Verified>(_ verify: () throws -> Verified) -> Verdict? {
    do {
        _ = try verify()
        return nil
    } catch let failure as VerificationError {
        return failure.verdict
    } catch {
        return .ok
    }
}

/// Shared proofs as a client would post them.
enum ProofBytes {
    static func of(_ id: String) -> [UInt8] {
        let bytes = SharedVectors.rows.first { $0.id == id }?.bytes ?? []
        return Array(bytes.reversed().drop { $0 <= 0x20 }.reversed())
    }
}

enum Base64Text {
    static func decode(_ bytes: [UInt8]) -> String? {
        Base64.decode(bytes.filter { $0 > 0x20 }).map { String(decoding: $0, as: UTF8.self) }
    }

    static func encode(_ text: String) -> String { Base64.encode(Array(text.utf8)) }
}
