/// Every open connection of a listener, with its phase, its deadline and its place in the order of waiting.
///
/// At its own limit, libmicrohttpd refuses new connections, so ten thousand idle or slow ones would lock all other
/// clients out, and its time-out restarts with each byte. This table therefore enforces both. A connection is
/// identified by its index in the table. Connections without a complete request form two chains by index, oldest first:
/// all of them, and those of one address.
struct ConnectionTable {
    enum Phase {
        /// No part of a request has been parsed yet.
        case waiting
        /// A request is arriving. Like a waiting connection, it may be closed for a new one.
        case header, body
        /// A handler is running, or its response is being sent: never closed for a new connection.
        case handling, sending
        /// Refused; further bytes are discarded until the other end closes.
        case lingering
        /// Shut down by us; libmicrohttpd has not noticed yet.
        case leaving
    }

    struct Slot {
        var socket: Int32 = -1
        var phase = Phase.leaving
        /// In milliseconds of ``monotonicMilliseconds()``.
        var deadline = Int.max
        var address = 0
        var peer = ""
        var exchange: Exchange?
        var inAll = ListLink()
        var inAddress = ListLink()
    }

    struct ListLink {
        var previous = -1
        var next = -1
    }

    private struct LinkedList {
        var first = -1
        var last = -1
    }

    private struct Address {
        var key: PeerAddress.Key
        var count = 0
        /// The part of `count` in ``Phase/leaving``.
        var leaving = 0
        var unfinished = LinkedList()
    }

    private(set) var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var addresses: [Address] = []
    private var freeAddresses: [Int] = []
    private var addressIndex: [PeerAddress.Key: Int] = [:]
    private var unfinished = LinkedList()
    private(set) var count = 0
    private var leaving = 0
    /// Connections whose request has begun and is not yet answered.
    private(set) var busy = 0

    let limit: Int
    let limitPerAddress: Int

    init(limit: Int, limitPerAddress: Int) {
        self.limit = limit
        self.limitPerAddress = limitPerAddress
    }

    /// The number of connections beyond `limit` that may briefly be open while shut-down ones close.
    static let slack = 512

    /// Whether to accept one more connection from this address. If that makes room, shuts down the connection that has
    /// been without a complete request for longest.
    mutating func admit(_ key: PeerAddress.Key, shut: (Int32) -> Void) -> Bool {
        if count >= limit + Self.slack { return false }
        if let index = addressIndex[key], addresses[index].count - addresses[index].leaving >= limitPerAddress {
            guard addresses[index].unfinished.first >= 0 else { return false }
            leave(addresses[index].unfinished.first, shut: shut)
        }
        if count - leaving >= limit {
            guard unfinished.first >= 0 else { return false }
            leave(unfinished.first, shut: shut)
        }
        return true
    }

    /// Records a new connection, which waits for its first request.
    mutating func open(socket: Int32, peer: PeerAddress, deadline: Int) -> Int {
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot()) }
        let address = self.address(of: peer.key)
        slots[slot] = Slot(socket: socket, phase: .waiting, deadline: deadline, address: address, peer: peer.text)
        addresses[address].count += 1
        count += 1
        link(slot)
        return slot
    }

    /// Records that the socket is about to be closed; the system may reuse its number.
    mutating func close(_ slot: Int) -> Exchange? {
        set(slot, .leaving)
        let exchange = slots[slot].exchange
        let address = slots[slot].address
        addresses[address].count -= 1
        addresses[address].leaving -= 1
        count -= 1
        leaving -= 1
        if addresses[address].count == 0 {
            addressIndex[addresses[address].key] = nil
            freeAddresses.append(address)
        }
        slots[slot] = Slot()
        freeSlots.append(slot)
        return exchange
    }

    /// Records the arrival of a request line. Returns the exchange that the place held before, for the caller to
    /// release.
    mutating func begin(_ slot: Int, _ exchange: Exchange, deadline: Int) -> Exchange? {
        let previous = slots[slot].exchange
        slots[slot].exchange = exchange
        set(slot, .header, deadline: deadline)
        return previous
    }

    /// Records the end of the request; the connection waits for its next one.
    mutating func end(_ slot: Int, deadline: Int) -> Exchange? {
        let exchange = slots[slot].exchange
        slots[slot].exchange = nil
        set(slot, .waiting, deadline: deadline)
        return exchange
    }

    /// - Returns: false if the connection was shut down before and only waits to be closed.
    @discardableResult
    mutating func set(_ slot: Int, _ phase: Phase, deadline: Int = .max) -> Bool {
        let old = slots[slot].phase
        guard old != .leaving else { return false }
        slots[slot].deadline = deadline
        guard old != phase else { return true }
        // A body keeps its header's position in the chain: sending it slowly does not make the connection younger.
        let keepsReservation = phase == .body && Self.isUnfinished(old)
        if Self.isUnfinished(old), !keepsReservation { unlink(slot) }
        if Self.isUnfinished(phase), !keepsReservation { link(slot) }
        busy += (Self.isBusy(phase) ? 1 : 0) - (Self.isBusy(old) ? 1 : 0)
        slots[slot].phase = phase
        if phase == .leaving {
            leaving += 1
            addresses[slots[slot].address].leaving += 1
        }
        return true
    }

    mutating func postpone(_ slot: Int) { slots[slot].deadline = .max }

    /// Marks a connection as leaving and has its socket shut down.
    mutating func leave(_ slot: Int, shut: (Int32) -> Void) {
        guard slots[slot].phase != .leaving else { return }
        set(slot, .leaving)
        shut(slots[slot].socket)
    }

    private static func isUnfinished(_ phase: Phase) -> Bool {
        switch phase {
        case .waiting, .header, .body: true
        case .handling, .sending, .lingering, .leaving: false
        }
    }

    private static func isBusy(_ phase: Phase) -> Bool {
        switch phase {
        case .header, .body, .handling, .sending: true
        case .waiting, .lingering, .leaving: false
        }
    }

    private mutating func address(of key: PeerAddress.Key) -> Int {
        if let index = addressIndex[key] { return index }
        let index = freeAddresses.popLast() ?? addresses.count
        if index == addresses.count { addresses.append(Address(key: key)) }
        addresses[index] = Address(key: key)
        addressIndex[key] = index
        return index
    }
}

// The chains: append at the end, remove anywhere.
extension ConnectionTable {
    private mutating func link(_ slot: Int) {
        let address = slots[slot].address
        slots[slot].inAll = ListLink(previous: unfinished.last, next: -1)
        if unfinished.last >= 0 { slots[unfinished.last].inAll.next = slot } else { unfinished.first = slot }
        unfinished.last = slot
        let last = addresses[address].unfinished.last
        slots[slot].inAddress = ListLink(previous: last, next: -1)
        if last >= 0 { slots[last].inAddress.next = slot } else { addresses[address].unfinished.first = slot }
        addresses[address].unfinished.last = slot
    }

    private mutating func unlink(_ slot: Int) {
        let address = slots[slot].address
        let all = slots[slot].inAll
        if all.previous >= 0 { slots[all.previous].inAll.next = all.next } else { unfinished.first = all.next }
        if all.next >= 0 { slots[all.next].inAll.previous = all.previous } else { unfinished.last = all.previous }
        let own = slots[slot].inAddress
        if own.previous >= 0 {
            slots[own.previous].inAddress.next = own.next
        } else {
            addresses[address].unfinished.first = own.next
        }
        if own.next >= 0 {
            slots[own.next].inAddress.previous = own.previous
        } else {
            addresses[address].unfinished.last = own.previous
        }
    }
}
