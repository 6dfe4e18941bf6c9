import CTillCurl

/// One request in progress in libcurl. Belongs to the fetch thread once it is submitted.
final class Transfer: @unchecked Sendable {
    typealias Continuation = CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>

    private let url: String
    private let request: HTTPRequest
    private var continuation: Continuation?
    private(set) var easy: UnsafeMutableRawPointer?
    private var sentHeaders: UnsafeMutablePointer<curl_slist>?

    private var headers = HTTPHeaders()
    private var headerBytes = 0
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var headerLimit = 0
    private var bodyLimit = 0
    private var addresses = AddressRule.everywhere
    private var refusedAddress: String?

    /// Protected by the lock of the engine's inbox: whether the caller was cancelled.
    var isCancelled = false

    init(url: String, request: HTTPRequest) {
        self.url = url
        self.request = request
    }

    deinit { curl_slist_free_all(sentHeaders) }

    func wait(_ continuation: Continuation) { self.continuation = continuation }

    /// Resumes the caller; later results are ignored.
    func resume(_ result: Result<HTTPResponse, HTTPError>) {
        continuation?.resume(returning: result)
        continuation = nil
    }

    // MARK: Before

    /// Configures a handle that is new or was reset.
    func prepare(_ easy: UnsafeMutableRawPointer, _ configuration: FetchConfiguration) throws(HTTPError) {
        self.easy = easy
        headerLimit = configuration.responseHeaderLimit
        bodyLimit = configuration.responseLimit
        addresses = configuration.addresses
        // libcurl guesses a missing scheme, so the scheme is checked here.
        guard ["http://", "https://"].contains(where: { url.lowercased().hasPrefix($0) }) else {
            throw HTTPError(.badURL, "the URL does not begin with http:// or https://")
        }
        try set(till_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https"))
        try set(till_curl_set_text(easy, CURLOPT_URL, url))
        try set(till_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0))
        try set(till_curl_set_long(easy, CURLOPT_NOSIGNAL, 1))
        try set(till_curl_set_opener(easy, Self.openSocket))
        // The engine retains the transfer until libcurl is done with it.
        try set(till_curl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, Unmanaged.passUnretained(self).toOpaque()))
        try set(till_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)))
        try set(till_curl_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)))
        // For libcurl, an empty proxy means none, whatever the environment sets.
        try set(till_curl_set_text(easy, CURLOPT_PROXY, configuration.proxy ?? ""))
        try set(till_curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1))
        if let roots = configuration.rootsFile { try set(till_curl_set_text(easy, CURLOPT_CAINFO, roots)) }
        if configuration.readsCertificates { try set(till_curl_set_long(easy, CURLOPT_CERTINFO, 1)) }
        try set(till_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout))
        try set(till_curl_set_long(easy, CURLOPT_TIMEOUT_MS, configuration.totalTimeout))
        try set(till_curl_set_large(easy, CURLOPT_MAXFILESIZE_LARGE, Int(configuration.responseLimit)))
        // The engine retains the transfer until it has removed the handle from libcurl.
        let context = Unmanaged.passUnretained(self).toOpaque()
        try set(till_curl_set_sink(easy, CURLOPT_HEADERFUNCTION, Self.takeHeader))
        try set(till_curl_set_pointer(easy, CURLOPT_HEADERDATA, context))
        try set(till_curl_set_sink(easy, CURLOPT_WRITEFUNCTION, Self.takeBody))
        try set(till_curl_set_pointer(easy, CURLOPT_WRITEDATA, context))
        try setMethod(easy)
        try setHeaders(easy)
    }

    private func setMethod(_ easy: UnsafeMutableRawPointer) throws(HTTPError) {
        switch request.method {
        case .head: try set(till_curl_set_long(easy, CURLOPT_NOBODY, 1))
        case .get where request.body.isEmpty: try set(till_curl_set_long(easy, CURLOPT_HTTPGET, 1))
        case .get, .post, .put, .delete:
            if request.method != .delete || !request.body.isEmpty {
                try set(till_curl_set_long(easy, CURLOPT_POST, 1))
                try set(till_curl_set_large(easy, CURLOPT_POSTFIELDSIZE_LARGE, request.body.count))
                // libcurl copies the body, because an array's bytes are valid for one call only.
                let code = request.body.withUnsafeBytes { bytes in
                    till_curl_set_pointer(
                        easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
                }
                try set(code)
            }
            if request.method != .post {
                try set(till_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method.rawValue))
            }
        }
    }

    private func setHeaders(_ easy: UnsafeMutableRawPointer) throws(HTTPError) {
        // Suppresses "Expect: 100-continue", and libcurl's default media type.
        var lines = ["Expect:"]
        if request.headers["Content-Type"] == nil { lines.append("Content-Type:") }
        for field in request.headers.fields where !Framing.isOurs(field.name) {
            let isToken = !field.name.isEmpty && field.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }
            guard isToken, !field.value.utf8.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }) else {
                throw HTTPError(.badURL, "the header field \(field.name.debugDescription) cannot be sent")
            }
            // libcurl reads "Name:" without a value as an instruction to leave the field out.
            lines.append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        for line in lines {
            guard let longer = curl_slist_append(sentHeaders, line) else {
                throw HTTPError(CURLE_OUT_OF_MEMORY)
            }
            sentHeaders = longer
        }
        try set(till_curl_set_list(easy, CURLOPT_HTTPHEADER, sentHeaders))
    }

    private func set(_ code: CURLcode) throws(HTTPError) {
        if code != CURLE_OK { throw HTTPError(code) }
    }

    // MARK: Meanwhile

    /// Called for each address that libcurl connects to. Only here is the address certain: a name may resolve to
    /// another address with each query.
    private static let openSocket: till_curl_opener = { context, purpose, target in
        guard let context, let target else { return curl_socket_t(CURL_SOCKET_BAD) }
        let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        guard transfer.admits(target) else { return curl_socket_t(CURL_SOCKET_BAD) }
        return till_curl_open_socket(purpose, target)
    }

    private func admits(_ target: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
        guard addresses != .everywhere else { return true }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = Int(till_curl_address(target, &bytes))
        guard let address = NetworkAddress(bytes: Array(bytes.prefix(count))) else {
            refusedAddress = "an address of an unknown family"
            return false
        }
        if addresses.admits(address, isEncrypted: url.lowercased().hasPrefix("https://")) { return true }
        refusedAddress = "\(address)"
        return false
    }

    private static let takeHeader: till_curl_sink = { bytes, size, count, context in
        guard let bytes, let context else { return 0 }
        let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return transfer.take(header: line) ? size * count : 0
    }

    private static let takeBody: till_curl_sink = { bytes, size, count, context in
        guard let bytes, let context else { return 0 }
        let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return transfer.take(body: piece) ? size * count : 0
    }

    private func take(header line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= headerLimit else {
            isTooLarge = true
            return false
        }
        // A header after the body has begun is a trailer, and trailers are ignored.
        guard body.isEmpty else { return true }
        if line.starts(with: "HTTP/".utf8) {
            // A 100, or a proxy's response, came before: only the last header counts.
            headers = HTTPHeaders()
            return true
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return true }
        var value = line[(colon + 1)...]
        while let first = value.first, Self.isBlank(first) { value = value.dropFirst() }
        while let last = value.last, Self.isBlank(last) { value = value.dropLast() }
        headers.add(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
        return true
    }

    private func take(body piece: UnsafeRawBufferPointer) -> Bool {
        guard body.count + piece.count <= bodyLimit else {
            isTooLarge = true
            body = []
            return false
        }
        body.append(contentsOf: piece)
        return true
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    // MARK: After

    /// The result, once libcurl is done.
    func outcome(_ code: CURLcode) -> Result<HTTPResponse, HTTPError> {
        if isTooLarge { return .failure(HTTPError(.responseTooLarge, "more than \(bodyLimit) bytes")) }
        if code == CURLE_COULDNT_CONNECT, let refusedAddress {
            return .failure(HTTPError(.addressRefused, "connections to \(refusedAddress) are not allowed"))
        }
        guard code == CURLE_OK, let easy else { return .failure(HTTPError(code)) }
        var status = 0
        guard till_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK, status >= 200 else {
            return .failure(HTTPError(CURLE_WEIRD_SERVER_REPLY))
        }
        var response = HTTPResponse(status: status, headers: headers, body: body)
        response.peerCertificate = till_curl_peer_certificate(easy).map { String(cString: $0) }
        return .success(response)
    }

    func release() { easy = nil }
}
