#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// An event with its own medias, such as a festival.
    ///
    /// Modules are equal when their identifiers are.
    public struct Module: KeyedModel, Identified, Titled {
        /// The identifier within its business unit and kind; from `id`.
        public var uid = ""
        /// The identifier among everything in the catalogue; from `urn`.
        public var urn = ""
        /// The broadcaster; from `vendor`.
        public var vendor: Vendor = .none
        /// The title; from `title`.
        public var title = ""
        /// A short introduction; from `lead`.
        public var lead: String?
        /// A longer text; from `description`.
        public var summary: String?
        /// The kind of module; from `moduleConfigType`.
        public var moduleType: Kind = .none
        /// When the module is first shown; from `publishStartTimestamp`.
        public var startDate: Date?
        /// Until when it is shown; from `publishEndTimestamp`.
        public var endDate: Date?
        /// The name in addresses; from `seoName`.
        public var seoName = ""
        /// The address of the background; from `bgImageUrl`.
        var backgroundImageURL: URL?
        /// The address of the logo; from `logoImageUrl`.
        var logoImageURL: URL?
        /// The address of the key visual; from `keyVisualImageUrl`.
        var keyVisualImageURL: URL?
        /// The background of the header; from `headerBackgroundColor`.
        public var headerBackgroundColor: RGBColor = .black
        /// The text of the header; from `headerTitleColor`.
        public var headerTextColor: RGBColor = .black
        /// The background; from `bgColor`.
        public var backgroundColor: RGBColor = .black
        /// The text; from `textColor`.
        public var textColor: RGBColor?
        /// The colour of links; from `linkColor`.
        public var linkColor: RGBColor?
        /// The title of the web site; from `microSiteTitle`.
        public var websiteTitle: String?
        /// The address of the web site; from `microSiteUrl`.
        public var websiteURL: URL?
        /// The sections of the module; from `sectionList`.
        public var sections: [Section]?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("id", &uid)
            try members.read("urn", &urn)
            try members.read("vendor", &vendor)
            try members.read("title", &title)
            try members.read("lead", &lead)
            try members.read("description", &summary)
            try members.read("moduleConfigType", &moduleType)
            try members.read("publishStartTimestamp", &startDate)
            try members.read("publishEndTimestamp", &endDate)
            try members.read("seoName", &seoName)
            try members.read("bgImageUrl", &backgroundImageURL)
            try members.read("logoImageUrl", &logoImageURL)
            try members.read("keyVisualImageUrl", &keyVisualImageURL)
            try members.read("headerBackgroundColor", &headerBackgroundColor)
            try members.read("headerTitleColor", &headerTextColor)
            try members.read("bgColor", &backgroundColor)
            try members.read("textColor", &textColor)
            try members.read("linkColor", &linkColor)
            try members.read("microSiteTitle", &websiteTitle)
            try members.read("microSiteUrl", &websiteURL)
            try members.read("sectionList", &sections)
        }

        /// The background image.
        public var backgroundImage: CatalogueImage? { CatalogueImage(backgroundImageURL) }
        /// The logo image.
        public var logoImage: CatalogueImage? { CatalogueImage(logoImageURL) }
        /// The key visual image.
        public var keyVisualImage: CatalogueImage? { CatalogueImage(keyVisualImageURL) }
        /// The key for comparing values.
        public var identity: String { uid }
    }
}

extension Catalogue.Module {
    /// A section of a module for a period of time.
    ///
    /// Sections are equal when their identifiers are.
    public struct Section: KeyedModel, Catalogue.Titled {
        /// The identifier within its business unit and kind; from `id`.
        public var uid = ""
        /// The title; from `title`.
        public var title = ""
        /// A short introduction; from `lead`.
        public var lead: String?
        /// A longer text; from `description`.
        public var summary: String?
        /// When the section is first shown; from `publishStartTimestamp`.
        public var startDate: Date?
        /// Until when it is shown; from `publishEndTimestamp`.
        public var endDate: Date?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("id", &uid)
            try members.read("title", &title)
            try members.read("lead", &lead)
            try members.read("description", &summary)
            try members.read("publishStartTimestamp", &startDate)
            try members.read("publishEndTimestamp", &endDate)
        }

        /// The key for comparing values.
        public var identity: String { uid }
    }

    /// The kind of a module.
    public enum Kind: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `EVENT`.
        case event = "EVENT"
    }
}
