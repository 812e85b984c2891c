#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// A television or radio channel.
    ///
    /// Channels are equal when their identifiers are.
    public struct Channel: BroadcastItem {
        /// The identifiers, texts and image.
        public var itemProperties = ItemProperties()
        /// The way of broadcasting; from `transmission`.
        public var transmission: Transmission = .none
        /// The address of the image as a vector graphic; from `imageUrlRaw`.
        var rawImageURL: URL?
        /// The address of the timetable; from `timeTableUrl`.
        public var timetableURL: URL?
        /// The current program, only in responses for one channel; from `now`.
        @Boxed public var currentProgram: Program?
        /// The next program, only in responses for one channel; from `next`.
        @Boxed public var nextProgram: Program?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try itemProperties.read(members)
            try members.read("transmission", &transmission)
            try members.read("imageUrlRaw", &rawImageURL)
            try members.read("timeTableUrl", &timetableURL)
            try members.read("now", &_currentProgram)
            try members.read("next", &_nextProgram)
        }

        /// The image as a vector graphic.
        public var rawImage: CatalogueImage? { CatalogueImage(rawImageURL) }
        /// The key for comparing values.
        public var identity: String { uid }
    }

    /// A program on a channel.
    ///
    /// Programs of a ``Catalogue/ProgramComposition`` are equal when their channels, titles and times are; others when
    /// all properties are.
    public struct Program: TimeBound, KeyedModel, Titled, Illustrated {
        /// The title; from `title`.
        public var title = ""
        /// A short introduction; from `lead`.
        public var lead: String?
        /// A longer text; from `description`.
        public var summary: String?
        /// The address of the image; from `imageUrl`.
        var imageURL: URL?
        /// The title of the image; from `imageTitle`.
        public var imageTitle: String?
        /// The copyright of the image; from `imageCopyright`.
        public var imageCopyright: String?
        /// The subtitle; from `subtitle`.
        public var subtitle: String?
        /// When the program begins; from `startTime`.
        public var startDate: Date?
        /// When the program ends; from `endTime`.
        public var endDate: Date?
        /// Whether the image is a placeholder; from `imageIsFallbackUrl`.
        var imageIsFallback: Bool?
        /// The address of a page about the program; from `url`.
        public var url: URL?
        /// The show of the program; from `show`.
        @Boxed public var show: Show?
        /// The parts of the program; from `subProgramList`.
        public var subprograms: [Program]?
        /// The URN of the program's media; from `mediaUrn`.
        public var mediaURN: String?
        /// The genre; from `genre`.
        public var genre: String?
        /// The number of the season; from `seasonNumber`.
        public var seasonNumber: Int?
        /// The number of the episode; from `episodeNumber`.
        public var episodeNumber: Int?
        /// The number of episodes; from `episodesTotal`.
        public var numberOfEpisodes: Int?
        /// The year of production; from `productionYear`.
        public var productionYear: Int?
        /// The country of production; from `productionCountry`.
        public var productionCountry: String?
        /// The warning for young people; from `youthProtectionColor`.
        public var youthProtectionColor: YouthProtectionColor = .none
        /// The title in the original language; from `originalTitle`.
        public var originalTitle: String?
        /// Cast and crew; from `creditList`.
        public var crewMembers: [CrewMember]?
        /// The presenter, only in responses of the first generation; from `presenter`.
        public var presenter: Presenter?
        /// Whether the program was broadcast before; from `isRepetition`.
        public var isRebroadcast = false
        /// The text about earlier broadcasts; from `repetitionDescription`.
        public var rebroadcastDescription: String?
        /// Whether there are subtitles; from `subtitlesAvailable`.
        public var hasSubtitles = false
        /// Whether there is another audio track; from `hasTwoLanguages`.
        public var hasAlternateAudio = false
        /// Whether there is sign language; from `hasSignLanguage`.
        public var hasSignLanguage = false
        /// Whether there is an audio description; from `hasVisualDescription`.
        public var hasAudioDescription = false
        /// Whether the audio is in Dolby Digital; from `isDolbyDigital`.
        public var isDolbyDigital = false

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("title", &title)
            try members.read("lead", &lead)
            try members.read("description", &summary)
            try members.read("imageUrl", &imageURL)
            try members.read("imageTitle", &imageTitle)
            try members.read("imageCopyright", &imageCopyright)
            try members.read("subtitle", &subtitle)
            try members.read("startTime", &startDate)
            try members.read("endTime", &endDate)
            try members.read("imageIsFallbackUrl", &imageIsFallback)
            try members.read("url", &url)
            try members.read("show", &_show)
            try members.read("subProgramList", &subprograms)
            try members.read("mediaUrn", &mediaURN)
            try members.read("genre", &genre)
            try members.read("seasonNumber", &seasonNumber)
            try members.read("episodeNumber", &episodeNumber)
            try members.read("episodesTotal", &numberOfEpisodes)
            try members.read("productionYear", &productionYear)
            try members.read("productionCountry", &productionCountry)
            try members.read("youthProtectionColor", &youthProtectionColor)
            try members.read("originalTitle", &originalTitle)
            try members.read("creditList", &crewMembers)
            try members.read("presenter", &presenter)
            try members.read("isRepetition", &isRebroadcast)
            try members.read("repetitionDescription", &rebroadcastDescription)
            try members.read("subtitlesAvailable", &hasSubtitles)
            try members.read("hasTwoLanguages", &hasAlternateAudio)
            try members.read("hasSignLanguage", &hasSignLanguage)
            try members.read("hasVisualDescription", &hasAudioDescription)
            try members.read("isDolbyDigital", &isDolbyDigital)
        }

        /// The identity made from channel, titles and times within a ``Catalogue/ProgramComposition``; empty elsewhere.
        var uid = ""

        /// The image; nil when it is a placeholder.
        public var image: CatalogueImage? { imageIsFallback == true ? nil : CatalogueImage(imageURL) }
        /// The key for comparing values.
        public var identity: String { uid }
    }
}

extension Catalogue.Program {
    /// A member of the cast or crew.
    public struct CrewMember: CatalogueModel {
        /// The name of the person; from `realName`.
        public var name = ""
        /// The role of the person; from `role`.
        public var role: String?
        /// The name of the character; from `name`.
        public var characterName: String?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("realName", &name)
            try members.read("role", &role)
            try members.read("name", &characterName)
        }
    }

    /// A presenter, in responses of the first generation.
    ///
    /// Presenters are equal when their names are.
    public struct Presenter: KeyedModel, Catalogue.Illustrated {
        /// The name; from `name`.
        public var name = ""
        /// The address of a page about the presenter; from `url`.
        public var url: URL?
        /// The address of the image; from `imageUrl`.
        var imageURL: URL?
        /// The title of the image; from `imageTitle`.
        public var imageTitle: String?
        /// The copyright of the image; from `imageCopyright`.
        public var imageCopyright: String?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("name", &name)
            try members.read("url", &url)
            try members.read("imageUrl", &imageURL)
            try members.read("imageTitle", &imageTitle)
            try members.read("imageCopyright", &imageCopyright)
        }

        /// The image, for making addresses in different sizes; from `imageUrl`.
        public var image: CatalogueImage? { CatalogueImage(imageURL) }
        /// The key for comparing values.
        public var identity: String { name }
    }
}
