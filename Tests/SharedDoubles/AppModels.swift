/// Models of an app in a module of its own, by names that a library leaves to apps.
package struct Event: Sendable {
    package var title: String
    package var status: Status
    package var links: [Link]

    package init(title: String, status: Status, links: [Link]) {
        (self.title, self.status, self.links) = (title, status, links)
    }
}

package enum Status: Sendable { case planned, over }

package struct Link: Sendable {
    package var target: String

    package init(target: String) { self.target = target }
}

package struct Page: Sendable {
    package var events: [Event]

    package init(events: [Event]) { self.events = events }
}
