import TillBilling
import TillCrypto
import TillJSON
import TillSQL

/// How far the chains of a ledger's seals were at one moment. Kept outside of the ledger, it shows that a file is an
/// older copy, or that its end was replaced.
public struct Checkpoint: Sendable, Hashable {
    /// The end of one table's chain.
    public struct Head: Sendable, Hashable {
        /// The last sealed row.
        public let position: Int64
        public let digest: [UInt8]
    }

    public let ledger: UniqueID
    public let epoch: Int64
    public let heads: [SealedStream: Head]

    /// The end of every chain now.
    package static func now(of identity: LedgerIdentity, _ connection: any Connection) throws -> Checkpoint {
        var heads: [SealedStream: Head] = [:]
        for stream in SealedStream.allCases {
            guard let seal = try SealTable(connection).newest(of: stream) else { continue }
            heads[stream] = Head(position: seal.last, digest: seal.digest)
        }
        return Checkpoint(ledger: identity.id, epoch: identity.epoch, heads: heads)
    }

    /// The members of the event `ledger.checkpoint` and of the file.
    package var members: [String: JSONValue] {
        let rows = heads.sorted { $0.key.rawValue < $1.key.rawValue }.map { stream, head in
            (
                stream.name,
                JSONValue.object([
                    "last": .int(head.position), "digest": .string(hexadecimal(head.digest)),
                ])
            )
        }
        return [
            "ledgerId": .string(ledger.description), "epoch": .int(epoch),
            "chains": .object(Dictionary(uniqueKeysWithValues: rows)),
        ]
    }
}

extension Checkpoint {
    /// From the members of a checkpoint, or of a webhook's body that has them as its data; nil for anything else.
    package init?(_ document: JSONValue) {
        let members = document["data"]?["chains"] == nil ? document : document["data"] ?? document
        guard let ledger = members["ledgerId"]?.string.flatMap({ UniqueID($0) }), let epoch = members["epoch"]?.int,
            let chains = members["chains"]?.object
        else { return nil }
        var heads: [SealedStream: Head] = [:]
        for (name, chain) in chains {
            guard let stream = SealedStream.allCases.first(where: { $0.name == name }),
                let position = chain["last"]?.int, let digest = chain["digest"]?.string.flatMap(Self.bytes),
                digest.count == 32
            else { return nil }
            heads[stream] = Head(position: position, digest: digest)
        }
        (self.ledger, self.epoch, self.heads) = (ledger, epoch, heads)
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}

extension Ledger {
    /// The ends of all chains now.
    package func checkpoint() async throws -> Checkpoint {
        let identity = try await identity()
        return try await database.read { try Checkpoint.now(of: identity, $0) }
    }

    /// Records a checkpoint as an event, unless nothing besides events was sealed since another one.
    ///
    /// - Returns: the checkpoint; nil if none was recorded.
    package func recordCheckpoint(unless last: Checkpoint?) async throws -> Checkpoint? {
        let checkpoint = try await checkpoint()
        func books(_ checkpoint: Checkpoint?) -> [SealedStream: Checkpoint.Head]? {
            checkpoint?.heads.filter { $0.key != .events }
        }
        guard !checkpoint.heads.isEmpty, books(checkpoint) != books(last) else { return nil }
        let (now, digest) = (clock(), checkpoint.digest)
        try await database.write(locking: [.ledger("seals")]) { connection in
            try EventRecorder(connection).record(
                type: EventType.ledgerCheckpoint.rawValue, user: nil, about: hexadecimal(digest), happensOnce: true,
                body: checkpoint.members, at: now)
        }
        return checkpoint
    }
}

extension Checkpoint {
    /// Of all that it says.
    fileprivate var digest: [UInt8] { Digest.sha256.hash(JSONValue.object(members).encodedBytes()) }
}
