import TillBilling

/// The components of one app's kit, each created once.
struct StoreComponents: Sendable {
    let configuration: TillConfiguration
    let access: StoreAccess
    let effects: Effects
    let server: ServerAccess
    let journal: OrderJournal
    let purchase: OrderPreparation
    let submitter: ProofSubmitter
    let retry: Resubmission
    let serverOrders: ServerOrders
    let signIn: SignInState
    let identity: DeviceIdentity
    let guest: Guest
    let updateLog: UpdateLog
    let state: StateBoard
    let log: StoreLog
    let catalog: ProductCatalog
    let reads: ServerReads
    /// The app's name for this phone.
    let phoneID: String

    init(
        _ configuration: TillConfiguration, access: StoreAccess, effects: Effects, files: DeviceFiles,
        transport: Transport
    ) throws(JournalError) {
        let (updateLog, state) = (UpdateLog(), StateBoard())
        let signIn = SignInState { user in
            updateLog.show(to: user)
            state.setUser(user)
        }
        self.state = state
        log = StoreLog(hook: configuration.log)
        self.configuration = configuration
        self.access = access
        self.effects = effects
        self.updateLog = updateLog
        self.signIn = signIn
        server = ServerAccess(url: configuration.server, transport: transport, language: configuration.messageLanguage)
        {
            await signIn.session()
        }
        journal = try OrderJournal(disk: files.journal) { entry in
            let order = StoreOrder(entry)
            updateLog.post(order, owner: entry.userID)
            state.show(order, owner: entry.userID)
        }
        identity = DeviceIdentity(disk: files.identity, entropy: effects.entropy)
        guest = Guest(identity, disk: files.identity, entropy: effects.entropy)
        catalog = ProductCatalog(file: files.catalog, server: server, products: access.products)
        let phoneID = configuration.phoneID ?? identity.device.description
        self.phoneID = phoneID
        reads = ServerReads(server: server, phoneID: phoneID)
        let queue = StoreQueue(access)
        purchase = OrderPreparation(journal: journal, server: server, effects: effects, phoneID: phoneID)
        submitter = ProofSubmitter(
            journal: journal, queue: queue, server: server, effects: effects, phoneID: phoneID
        ) { [catalog] in await catalog.label(of: $0) }
        serverOrders = ServerOrders(journal: journal, purchase: purchase, server: server, effects: effects)
        retry = Resubmission(journal: journal, queue: queue, submitter: submitter, effects: effects)
    }
}

/// The kit's files on the device.
package struct DeviceFiles: Sendable {
    package var journal: Disk
    package var identity: Disk
    package var catalog: CacheFile
    package var entitlements: CacheFile

    package init(
        journal: Disk, identity: Disk, catalog: CacheFile = .none, entitlements: CacheFile = .none
    ) {
        self.journal = journal
        self.identity = identity
        self.catalog = catalog
        self.entitlements = entitlements
    }

    /// - Throws: `inUse` if another running instance has its orders there.
    package static func inDirectory(_ path: String) throws(DiskError) -> DeviceFiles {
        let directory = path.hasSuffix("/") ? path : path + "/"
        return DeviceFiles(
            journal: try .file(at: directory + "orders.journal"), identity: try .file(at: directory + "identity"),
            catalog: .file(at: directory + "catalogue.json"),
            entitlements: .file(at: directory + "entitlements.json"))
    }
}
