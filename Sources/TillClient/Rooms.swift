import TillBilling

/// The components of one app's kit, each created once.
struct Rooms: Sendable {
    let configuration: StoreConfiguration
    let access: StoreAccess
    let effects: Effects
    let server: ServerAccess
    let journal: OrderJournal
    let purchase: Purchase
    let submit: Submit
    let retry: Retry
    let serverOrders: ServerOrders
    let signIn: SignIn
    let identity: DeviceIdentity
    let guest: Guest
    let board: UpdateBoard
    let catalogue: Catalogue
    let reads: Reads

    init(
        _ configuration: StoreConfiguration, access: StoreAccess, effects: Effects, files: DeviceFiles,
        transport: Transport
    ) throws(JournalFault) {
        let board = UpdateBoard()
        let signIn = SignIn { board.show(to: $0) }
        self.configuration = configuration
        self.access = access
        self.effects = effects
        self.board = board
        self.signIn = signIn
        server = ServerAccess(url: configuration.server, transport: transport, language: configuration.language) {
            await signIn.session()
        }
        journal = try OrderJournal(disk: files.journal) { board.post(OrderSummary($0), owner: $0.userID) }
        identity = DeviceIdentity(disk: files.identity, entropy: effects.entropy)
        guest = Guest(identity, disk: files.identity, entropy: effects.entropy)
        catalogue = Catalogue(file: files.catalogue, server: server, products: access.products)
        let deviceID = configuration.deviceID ?? identity.device.description
        reads = Reads(server: server, deviceID: deviceID)
        let queue = StoreQueue(access)
        purchase = Purchase(journal: journal, server: server, effects: effects, deviceID: deviceID)
        submit = Submit(journal: journal, queue: queue, server: server, effects: effects, deviceID: deviceID)
        serverOrders = ServerOrders(journal: journal, server: server, effects: effects)
        retry = Retry(journal: journal, queue: queue, submit: submit, effects: effects)
    }
}

/// The kit's files on the device.
package struct DeviceFiles: Sendable {
    package var journal: Disk
    package var identity: Disk
    package var catalogue: CatalogueFile

    package init(journal: Disk, identity: Disk, catalogue: CatalogueFile = .none) {
        self.journal = journal
        self.identity = identity
        self.catalogue = catalogue
    }

    /// - Throws: `inUse` if another running instance has its orders there.
    package static func inDirectory(_ path: String) throws(DiskFault) -> DeviceFiles {
        let directory = path.hasSuffix("/") ? path : path + "/"
        return DeviceFiles(
            journal: try .file(at: directory + "orders.journal"), identity: try .file(at: directory + "identity"),
            catalogue: .file(at: directory + "catalogue.json"))
    }
}
