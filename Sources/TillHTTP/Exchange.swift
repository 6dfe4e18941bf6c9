import CTillMicroHTTPD
import Synchronization

/// One request and its response, from the request line until the last byte is sent.
///
/// Everything except `answer` belongs to the event-loop thread of its connection; the caller whose `claim()` succeeds
/// writes `answer` once.
final class Exchange: @unchecked Sendable {
    enum Stage {
        /// The request line has arrived.
        case named
        /// The header was accepted; the body is arriving.
        case receiving
        /// The handler has the request.
        case running
        /// Refused with bytes still to come, which are discarded.
        case lingering
        case answered
    }

    let connection: OpaquePointer
    let slot: Int
    let peer: String
    /// Whether the request arrived after the time for stopping was over.
    let isLate: Bool
    var target: Result<RequestTarget, HTTPRequestError>
    /// The address at which libmicrohttpd keeps the target, for ``WireHeaderReader``.
    let targetStart: UInt
    let targetCount: Int
    var stage = Stage.named
    var method = HTTPMethod.get
    var validator = HeaderValidator()
    var body: [UInt8] = []
    var bodyLimit = 0
    /// Whether the admission check accepted a long body, and the value it returned to hold while the request lasts.
    var isAdmitted = false
    var admissionToken: (any Sendable)?
    /// Bytes of body received, kept or not.
    var received = 0
    /// Protected by the lock of the connection table.
    var task: Task<Void, Never>?

    private enum Progress { static let running: UInt8 = 0, parked: UInt8 = 1, answered: UInt8 = 2 }
    private let progress = Atomic<UInt8>(Progress.running)
    private let isClaimed = Atomic<Bool>(false)
    private var answer: DaemonResponse?
    private let live: ExchangeCounter
    private let memory: BodyMemory
    private var reserved = 0

    init(
        connection: OpaquePointer, slot: Int, peer: String, isLate: Bool, raw: UnsafeBufferPointer<UInt8>,
        live: ExchangeCounter, memory: BodyMemory
    ) {
        self.connection = connection
        self.slot = slot
        self.peer = peer
        self.isLate = isLate
        target = Result { () throws(HTTPRequestError) in try RequestTarget(raw: raw) }
        targetStart = UInt(bitPattern: raw.baseAddress)
        targetCount = raw.count
        self.live = live
        self.memory = memory
        live.value.add(1, ordering: .relaxed)
    }

    deinit {
        live.value.subtract(1, ordering: .relaxed)
        memory.release(reserved)
    }

    /// Appends a piece of the body; false if the shared body memory is exhausted. The memory is returned when the
    /// exchange is deallocated; the handler's task keeps the exchange alive as long as the body.
    func append(_ piece: UnsafeRawBufferPointer) -> Bool {
        let needed = body.count + piece.count
        if needed > body.capacity, let announced = validator.contentLength {
            // Reserves what the header announced: an array's own growth would double beyond it.
            body.reserveCapacity(max(needed, min(announced, 2 * body.count)))
        }
        body.append(contentsOf: piece)
        let counted = max(0, body.capacity - ListenerConfiguration.smallBody) - reserved
        guard counted > 0 else { return true }
        reserved += counted
        return memory.take(counted)
    }

    /// Releases the body and its memory.
    func dropBody() {
        body = []
        memory.release(reserved)
        reserved = 0
    }

    /// True for the first caller only, which alone answers the request.
    func claim() -> Bool { !isClaimed.exchange(true, ordering: .acquiringAndReleasing) }

    /// Stores the response (from any thread) and resumes the connection if it is suspended.
    func put(_ response: DaemonResponse?) {
        answer = response
        let before = progress.exchange(Progress.answered, ordering: .acquiringAndReleasing)
        if before == Progress.parked { MHD_resume_connection(connection) }
    }

    /// Suspends the connection until the response is stored; false if it already is.
    func park() -> Bool {
        if progress.load(ordering: .acquiring) == Progress.answered { return false }
        MHD_suspend_connection(connection)
        let parked = progress.compareExchange(
            expected: Progress.running, desired: Progress.parked, ordering: .acquiringAndReleasing)
        // The response was stored in between, when `put(_:)` found no suspended connection.
        if !parked.exchanged { MHD_resume_connection(connection) }
        return true
    }

    /// The response, returned once.
    func takeAnswer() -> DaemonResponse? {
        guard progress.load(ordering: .acquiring) == Progress.answered else { return nil }
        defer { answer = nil }
        return answer
    }
}

/// The number of exchanges in memory, which reveals leaks.
final class ExchangeCounter: Sendable {
    let value = Atomic<Int>(0)
}

/// A response in libmicrohttpd's form, created on the thread that has the response.
final class DaemonResponse: @unchecked Sendable {
    private let pointer: OpaquePointer
    private let status: UInt32

    /// Nil if libmicrohttpd is out of memory.
    init?(_ response: HTTPResponse, closing: Bool) {
        guard
            let pointer = response.body.withUnsafeBytes({ bytes in
                MHD_create_response_from_buffer(
                    bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
            })
        else { return nil }
        self.pointer = pointer
        // libmicrohttpd would write an invalid status to the wire.
        status = (200...599).contains(response.status) ? UInt32(response.status) : 500
        for field in response.headers.fields where !Framing.isOurs(field.name) {
            // libmicrohttpd refuses a field with a line break; that field is left out.
            MHD_add_response_header(pointer, field.name, field.value)
        }
        if closing || Framing.asksToClose(response) { MHD_add_response_header(pointer, "Connection", "close") }
    }

    deinit { MHD_destroy_response(pointer) }

    func queue(on connection: OpaquePointer) -> MHD_Result { MHD_queue_response(connection, status, pointer) }
}

/// The header fields that frame a message. Only the listener sets them.
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

    /// A complete response as bytes, for the moments when libmicrohttpd accepts none: in the middle of a body.
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
