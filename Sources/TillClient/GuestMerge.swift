import TillAPI
import TillBilling

/// How it went with what the guest of this installation had bought when somebody signed in (P12).
public enum GuestMerge: Hashable, Sendable {
    /// The guest bought nothing here.
    case nothing
    /// All of it is the account's, and whoever buys without an account from now on is another guest.
    case merged
    /// Not yet; the next sign-in that brings the guest's token tries again.
    case postponed(StoreError)
    /// The server said no.
    case refused(StoreError)

    /// Why not.
    public var error: StoreError? {
        switch self {
        case .nothing, .merged: nil
        case .postponed(let error), .refused(let error): error
        }
    }
}

/// Asks the server to make this installation's guest part of an account. Whatever fails, nothing is changed here, and
/// asking again is the same merge.
struct MergeGuest: Sendable {
    private let journal: OrderJournal
    private let server: ServerAccess
    private let guest: Guest

    init(_ rooms: Rooms) {
        journal = rooms.journal
        server = rooms.server
        guest = rooms.guest
    }

    func callAsFunction(into account: UserID, token: @Sendable () async -> String?) async -> GuestMerge {
        let known = await guest.userID
        guard known != account, await !journal.entries(of: known).isEmpty else { return .nothing }
        guard let proof = await token(), let session = await server.session(), session.userID == account else {
            return .postponed(.notSignedIn)
        }
        do throws(ServerFault) {
            let body = MergeGuestBody(guestId: known.text, guestToken: proof)
            _ = try await server.post(
                Paths.guests(of: account), body, as: session, expecting: TransferReply.self)
        } catch {
            if case .refused(let refusal) = error, refusal.refusal == .guestTaken { try? await guest.retire() }
            return error.isRetryable ? .postponed(.server(error)) : .refused(.server(error))
        }
        do throws(JournalFault) {
            try await journal.hand(over: known, to: account)
            do throws(DiskFault) { try await guest.retire() } catch { throw .disk(error) }
        } catch {
            return .postponed(.journal(error))
        }
        return .merged
    }
}

/// Who buys on this installation without an account.
actor Guest {
    private var identity: DeviceIdentity
    private let disk: Disk
    private let entropy: @Sendable (Int) -> [UInt8]

    init(_ identity: DeviceIdentity, disk: Disk, entropy: @escaping @Sendable (Int) -> [UInt8]) {
        self.identity = identity
        self.disk = disk
        self.entropy = entropy
    }

    var userID: UserID { UserID(UserID.guestPrefix + identity.guest.description) }

    /// The next guest is another one: what this one pays goes to the account.
    func retire() throws(DiskFault) {
        let next = DeviceIdentity(device: identity.device, guest: UniqueID(random: entropy(16)))
        try disk.replace(next.bytes)
        identity = next
    }
}

extension UserID {
    fileprivate static let guestPrefix = "guest-"

    /// Whether it is named as this kit names guests.
    var isGuest: Bool { text.utf8.starts(with: Self.guestPrefix.utf8) }
}
