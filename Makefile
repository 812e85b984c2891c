# Each goal installs what it lacks and reports it (Scripts/bootstrap). CONTRIBUTING.md explains the goals.
PREFIX ?= /usr/local
export PREFIX DESTDIR SWIFTFLAGS FILTER TARGETS ROUNDS SCENARIOS RUNS SEED SHARE FLAGS

GOALS := demo example test soak apple optimised bench lint format docs install fuzz hostile sanitize

help:
	@echo 'make demo       the lade command against servers on this machine'
	@echo 'make example    a terminal browser of a catalogue on this machine   FLAGS=--slow or --failing'
	@echo 'make test       all tests, with real peers on loopback      FILTER=regex'
	@echo 'make soak       the long random tests whole               SHARE=0.1 SEED=number'
	@echo 'make apple      the type check for macOS and iOS, on Linux   TARGETS=LadeCore'
	@echo 'make lint       the format of the sources                   (make format corrects it)'
	@echo 'make docs       the documentation, one site in .build/docs'
	@echo 'make install    the command, its man page and completions   PREFIX=/usr/local'
	@echo 'make bench      comparison with libcurl in C and others     ROUNDS=5 SCENARIOS=small64,stream'
	@echo 'make optimised  the tests of the libraries in the release configuration   TARGETS=LadeTests'
	@echo 'make sanitize   the tests under the Thread and Address Sanitizers   TARGETS=LadeWireTests'
	@echo 'make fuzz       the parsers, with random inputs             RUNS=1000000 FILTER=regex'
	@echo 'make hostile    the transport, with servers that damage their answers  RUNS=5000 SEED=number'
	@echo 'make clean      removes what all of these have made'

$(GOALS):
	@Scripts/$@

clean:
	@Scripts/clean

.PHONY: help clean $(GOALS)
