import TillCrypto

@testable import TillLedger

/// The properties of compressed proofs: what a file holds may be damaged in any way.
enum StoredProofProperties {
    static let header = Array("eyJhbGciOiJFUzI1NiJ9.".utf8)

    static func check(_ input: [UInt8]) throws(PropertyError) {
        let form = try held(try? CompressedProof(), "there is memory")
        try readsWithinTheLimit(input, form)
        // As the body of the format: the fuzzer need not find the checksum's four bytes.
        try readsWithinTheLimit([1] + input, form)
        try comesBack(input, form)
        let payload = Base64.encode(input, .url), signature = Base64.encode([UInt8](repeating: 7, count: 64), .url)
        try comesBack(Array("\(payload).\(signature)".utf8), form)
    }

    /// Whatever is read has the length of a token, and compresses to something that reads back the same.
    private static func readsWithinTheLimit(_ input: [UInt8], _ form: CompressedProof) throws(PropertyError) {
        guard let read = try? form.decompress(input, header: header) else { return }
        try hold(read.count <= CompressedProof.payloadLimit * 4 / 3 + 100, "a proof is bounded")
        try comesBack(read, form)
    }

    private static func comesBack(_ rest: [UInt8], _ form: CompressedProof) throws(PropertyError) {
        let compressed: [UInt8]?
        do { compressed = try form.compress(header: header, rest: rest) } catch {
            throw PropertyError(claim: "compressing needs memory alone: \(error)")
        }
        guard let compressed else { return }
        try hold(compressed.count < rest.count, "a compressed proof is smaller")
        try hold((try? form.decompress(compressed, header: header)) == rest, "a proof comes back")
        try hold((try? form.decompress(compressed, header: header + header)) == nil, "another header is noticed")
        for place in stride(from: 0, to: 69, by: 17) {
            var damaged = compressed
            damaged[place] ^= 1 << UInt8(rest.count % 8)
            try hold((try? form.decompress(damaged, header: header)) == nil, "a turned bit is noticed")
        }
        try hold((try? form.decompress(compressed.dropLast(), header: header)) == nil, "a missing byte is noticed")
    }
}
