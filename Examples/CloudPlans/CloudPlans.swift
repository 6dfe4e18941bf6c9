import ExampleTerminal

@main
struct CloudPlans {
    static func main() async {
        let launch = Launch.fromCommandLine("cloudplans")
        let app = App(
            store: launch.store, screen: Screen(terminal: launch.terminal),
            service: CustomerService(store: launch.store, terminal: launch.terminal))
        await app.run(user: launch.user, token: launch.token, input: launch.terminal.lines())
    }
}
