import CTillMicroHTTPD
import Synchronization

/// One request and its answer, from the request line until the last byte is sent.
///
/// All of it belongs to the event-loop thread of its connection, except `answer`, which whoever claims it writes once.
final class Exchange: @unchecked Sendable {
    enum Stage {
        /// The request line is known.
        case named
        /// The header was good; the body is coming.
        case receiving
        /// The handler has the request.
        case running
        /// Refused with bytes still to come; they are thrown away.
        case lingering
        case answered
    }

    let connection: OpaquePointer
    let place: Int
    let peer: String
    /// Came after the server had begun to stop.
    let isLate: Bool
    var target: Result<RequestTarget, BadRequest>
    /// Where libmicrohttpd keeps the target, for ``WireLayout``.
    let targetStart: UInt
    let targetCount: Int
    var stage = Stage.named
    var method = HTTPMethod.get
    var border = HeaderBorder()
    var body: [UInt8] = []
    var bodyLimit = 0
    /// Whether somebody has said that a long body is taken, and what was handed out for as long as the request lasts.
    var isAdmitted = false
    var held: (any Sendable)?
    /// Bytes of body seen, kept or not.
    var received = 0
    /// Under the lock of the connection table.
    var task: Task<Void, Never>?

    private enum Progress { static let running: UInt8 = 0, parked: UInt8 = 1, answered: UInt8 = 2 }
    private let progress = Atomic<UInt8>(Progress.running)
    private let isClaimed = Atomic<Bool>(false)
    private var answer: MadeResponse?
    private let live: LiveCount
    private let memory: BodyMemory
    private var taken = 0

    init(
        connection: OpaquePointer, place: Int, peer: String, isLate: Bool, raw: UnsafeBufferPointer<UInt8>,
        live: LiveCount, memory: BodyMemory
    ) {
        self.connection = connection
        self.place = place
        self.peer = peer
        self.isLate = isLate
        target = Result { () throws(BadRequest) in try RequestTarget(raw: raw) }
        targetStart = UInt(bitPattern: raw.baseAddress)
        targetCount = raw.count
        self.live = live
        self.memory = memory
        live.value.add(1, ordering: .relaxed)
    }

    deinit {
        live.value.subtract(1, ordering: .relaxed)
        memory.giveBack(taken)
    }

    /// Keeps a piece of the body; false where there is no memory for it. What is taken is given back when the exchange
    /// goes, which the handler's task holds for as long as it has the body.
    func keep(_ piece: UnsafeRawBufferPointer) -> Bool {
        let needed = body.count + piece.count
        if needed > body.capacity, let announced = border.contentLength {
            // An array would double beyond what is still to come.
            body.reserveCapacity(max(needed, min(announced, 2 * body.count)))
        }
        body.append(contentsOf: piece)
        let counted = max(0, body.capacity - ListenerConfiguration.smallBody) - taken
        guard counted > 0 else { return true }
        taken += counted
        return memory.take(counted)
    }

    /// Lets go of the body.
    func dropBody() {
        body = []
        memory.giveBack(taken)
        taken = 0
    }

    /// True for the first caller only: it and nobody else answers.
    func claim() -> Bool { !isClaimed.exchange(true, ordering: .acquiringAndReleasing) }

    /// Puts the answer down (from any thread) and wakes the connection if it sleeps.
    func put(_ response: MadeResponse?) {
        answer = response
        let before = progress.exchange(Progress.answered, ordering: .acquiringAndReleasing)
        if before == Progress.parked { MHD_resume_connection(connection) }
    }

    /// Lets the connection sleep until the answer is there; false if it is there already.
    func park() -> Bool {
        if progress.load(ordering: .acquiring) == Progress.answered { return false }
        MHD_suspend_connection(connection)
        let parked = progress.compareExchange(
            expected: Progress.running, desired: Progress.parked, ordering: .acquiringAndReleasing)
        // The answer slipped in between, and whoever brought it saw nobody asleep.
        if !parked.exchanged { MHD_resume_connection(connection) }
        return true
    }

    /// The answer, once.
    func takeAnswer() -> MadeResponse? {
        guard progress.load(ordering: .acquiring) == Progress.answered else { return nil }
        defer { answer = nil }
        return answer
    }
}

/// How many exchanges are in memory: a leak shows here.
final class LiveCount: Sendable {
    let value = Atomic<Int>(0)
}

/// A response in libmicrohttpd's own form, made on whichever thread had the answer.
final class MadeResponse: @unchecked Sendable {
    private let pointer: OpaquePointer
    private let status: UInt32

    /// Nil where there is no memory.
    init?(_ response: HTTPResponse, closing: Bool) {
        guard
            let pointer = response.body.withUnsafeBytes({ bytes in
                MHD_create_response_from_buffer(
                    bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
            })
        else { return nil }
        self.pointer = pointer
        // A status that is none would be written to the wire as it is.
        status = (200...599).contains(response.status) ? UInt32(response.status) : 500
        for field in response.headers.fields where !Framing.isOurs(field.name) {
            // A field with a line break in it is refused by libmicrohttpd and left out.
            MHD_add_response_header(pointer, field.name, field.value)
        }
        if closing || Framing.asksToClose(response) { MHD_add_response_header(pointer, "Connection", "close") }
    }

    deinit { MHD_destroy_response(pointer) }

    func queue(on connection: OpaquePointer) -> MHD_Result { MHD_queue_response(connection, status, pointer) }
}

/// The header fields that say where a message ends; they are the listener's business and nobody else's.
enum Framing {
    static func isOurs(_ name: String) -> Bool {
        switch name.utf8.count {
        case 10: name.lowercased() == "connection" || name.lowercased() == "keep-alive"
        case 14: name.lowercased() == "content-length"
        case 17: name.lowercased() == "transfer-encoding"
        default: false
        }
    }

    static func asksToClose(_ response: HTTPResponse) -> Bool {
        response.headers["Connection"]?.lowercased() == "close"
    }

    /// A whole answer as bytes, for the moments when libmicrohttpd takes none: in the middle of a body.
    static func closingBytes(_ response: HTTPResponse) -> [UInt8] {
        var head = "HTTP/1.1 \(response.status) \(reason(response.status))\r\n"
        for field in response.headers.fields where !isOurs(field.name) && isOneLine(field) {
            head += "\(field.name): \(field.value)\r\n"
        }
        head += "Content-Length: \(response.body.count)\r\nConnection: close\r\n\r\n"
        return Array(head.utf8) + response.body
    }

    private static func isOneLine(_ field: (name: String, value: String)) -> Bool {
        !field.name.utf8.contains { $0 < 0x20 } && !field.value.utf8.contains { $0 < 0x20 }
    }

    private static func reason(_ status: Int) -> String {
        UInt32(exactly: status).flatMap { MHD_get_reason_phrase_for($0) }.map { String(cString: $0) } ?? "Unknown"
    }
}
