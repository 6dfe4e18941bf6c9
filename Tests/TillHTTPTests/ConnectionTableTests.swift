import Glibc
import Testing

@testable import TillHTTP

@Suite struct ConnectionTableTests {
    private static func peer(_ host: UInt32) -> PeerAddress {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = host.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { PeerAddress($0) }
        }
    }

    @Test("An address has a text for people and a network for counting")
    func addresses() {
        #expect(Self.peer(0x7F00_0001).text == "127.0.0.1")
        #expect(Self.peer(0x7F00_0001).key != Self.peer(0x7F00_0002).key)
        func six(_ bytes: [UInt8]) -> PeerAddress {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { PeerAddress($0) }
            }
        }
        let prefix: [UInt8] = [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 1]
        let one = six(prefix + [0, 0, 0, 0, 0, 0, 0, 1])
        #expect(one.text == "2001:db8:0:1::1")
        #expect(one.key == six(prefix + [9, 9, 9, 9, 9, 9, 9, 9]).key)
        #expect(one.key != six([0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 2] + [0, 0, 0, 0, 0, 0, 0, 1]).key)
        let mapped = six([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1])
        #expect(mapped.text == "127.0.0.1")
        #expect(mapped.key == Self.peer(0x7F00_0001).key)
    }

    @Test("When one address is full, its longest unfinished connection is closed; other addresses still connect")
    func perAddress() {
        var table = ConnectionTable(limit: 100, limitPerAddress: 3)
        let (here, there) = (Self.peer(1), Self.peer(2))
        var shut: [Int32] = []
        for socket in 0..<3 as Range<Int32> {
            let welcome = table.admit(here.key) { shut.append($0) }
            #expect(welcome)
            _ = table.open(socket: socket, peer: here, deadline: 0)
        }
        table.set(0, .handling)
        var welcome = table.admit(there.key) { shut.append($0) }
        #expect(welcome && shut.isEmpty)
        welcome = table.admit(here.key) { shut.append($0) }
        #expect(welcome)
        #expect(shut == [1])
        table.set(2, .sending)
        _ = table.open(socket: 3, peer: here, deadline: 0)
        table.set(3, .handling)
        // All three remaining connections are being answered.
        welcome = table.admit(here.key) { shut.append($0) }
        #expect(!welcome)
        #expect(table.busy == 3)
        #expect(shut == [1])
    }

    @Test("After any sequence of events the counts and chains match a plain list", arguments: 0..<20)
    func model(_ seed: UInt64) {
        struct Model {
            var socket: Int32
            var host: UInt32
            var phase = ConnectionTable.Phase.waiting
            var since: Int
        }
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next(_ bound: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(bound))
        }
        var table = ConnectionTable(limit: 12, limitPerAddress: 5)
        var model: [Int: Model] = [:]
        let unfinished: [ConnectionTable.Phase] = [.waiting, .header, .body]
        var socket: Int32 = 0
        for step in 0..<1_000 {
            let slots = model.keys.sorted()
            switch next(6) {
            case 0, 1:
                let host = UInt32(next(4))
                var shut: Int32?
                let isWelcome = table.admit(Self.peer(host).key) { shut = $0 }
                let own = model.filter { $0.value.host == host && $0.value.phase != .leaving }
                let all = model.filter { $0.value.phase != .leaving }
                let full = own.count >= 5 ? own : all.count >= 12 ? all : [:]
                let oldest = full.filter { unfinished.contains($0.value.phase) }.min { $0.value.since < $1.value.since }
                if shut != oldest?.value.socket || isWelcome != (full.isEmpty || oldest != nil) {
                    Issue.record("step \(step): shut \(String(describing: shut)), welcome \(isWelcome)")
                    return
                }
                if let oldest { model[oldest.key]?.phase = .leaving }
                guard isWelcome else { continue }
                socket += 1
                let slot = table.open(socket: socket, peer: Self.peer(host), deadline: 0)
                if model[slot] != nil { Issue.record("step \(step): place \(slot) was given twice") }
                model[slot] = Model(socket: socket, host: host, since: step)
            case 2, 3:
                guard !slots.isEmpty else { continue }
                // Connections that were shut down end soon.
                let slot = slots.first { model[$0]?.phase == .leaving } ?? slots[next(slots.count)]
                _ = table.close(slot)
                model[slot] = nil
            default:
                guard !slots.isEmpty else { continue }
                let slot = slots[next(slots.count)]
                let phases: [ConnectionTable.Phase] = [.waiting, .header, .body, .handling, .sending, .lingering]
                let phase = phases[next(phases.count)]
                table.set(slot, phase)
                guard let old = model[slot]?.phase, old != .leaving, old != phase else { continue }
                model[slot]?.phase = phase
                if phase != .body || !unfinished.contains(old) { model[slot]?.since = step }
            }
            let busy = model.values.filter { ![.waiting, .lingering, .leaving].contains($0.phase) }
            if table.count != model.count || table.busy != busy.count {
                Issue.record("step \(step): \(table.count) and \(table.busy), not \(model.count) and \(busy.count)")
                return
            }
        }
        #expect(socket > 100)
        #expect(table.slots.count <= 100)
    }
}
