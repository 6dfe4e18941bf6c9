# Every habit is a target. `make` alone lists them.
# 每个习惯一个目标；只敲 make 就列出来。

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help deps build lint test test-all demo bench bench-check docs surface kill-test upgrade-test backup-drill failover-test simulate soak fuzz \
        package package-test release

# `make demo ONCE=1` ends after the transcript; FLAGS go on: `make demo FLAGS='--port 9000'`.
ONCE ?=
FLAGS ?=
# `make test FILTER=TillHTTPTests` runs a part; `make test DATABASE=postgres` puts the ledgers on PostgreSQL.
FILTER ?=
DATABASE ?=
# `make fuzz FUZZ_SECONDS=1800 JOBS=2`: seconds for each target, targets at a time.
FUZZ_SECONDS ?= 60
JOBS ?= 1
# `make soak DATABASE=postgres MINUTES=1 SEED=7 JSON=1 KEEP=directory`
MINUTES ?= 30
SEED ?=
JSON ?=
KEEP ?=

help: ## this list · 本清单
	@awk -F ' ## ' '/^[a-z-]+:.* ## / { sub(/:.*/, "", $$1); printf "  make %-13s %s\n", $$1, $$2 }' Makefile

deps: ## install the packages that are missing · 安装缺少的软件包
	@scripts/install-packages build test
	@scripts/install-python-packages

build: ## build everything · 编译全部
	@scripts/install-packages build
	swift build

lint: deps ## formatting, then the rules of the house · 检查格式与项目规矩
	swift format lint --strict --recursive --parallel Package.swift Sources Tests Examples Benchmarks Fuzz
	swift build --build-tests
	scripts/test TidyTests

test: deps ## build and run every quick test · 编译并运行全部快速测试
	swift build --build-tests
	TILL_TEST_DATABASE='$(DATABASE)' scripts/test $(if $(FILTER),'$(FILTER)')
	@scripts/install-python-packages --remind

# What takes too long for every change of one's own; CI runs it.
test-all: deps ## slow tests too, a purchase's files, planted mistakes, a broken cluster · 连同慢测试、一笔购买的文件、植入的错误、被破坏的集群
	swift build --build-tests
	scripts/test --all
	TILL_TEST_DATABASE=postgres scripts/test
	@scripts/install-python-packages --remind
	scripts/purchase-files
	scripts/plant-mistakes
	FAULTS=20 SEED=21 scripts/failover-test

# Not the release build: a newcomer waits half as long for it, and three purchases show no difference.
demo: ## three purchases and a forged one, then the shop (ONCE=1: no shop) · 三笔购买加一笔伪造，然后开店
	@scripts/install-packages build
	swift build --product till
	swift build --product learnpoints
	@exec "$$(swift build --show-bin-path)/till" demo $(if $(ONCE),--once) $(FLAGS)

bench: ## measure verification and durable grants, on SQLite and PostgreSQL · 测量验证与落盘发放
	@test -x scripts/bench || { echo "make bench: scripts/bench is missing" >&2; exit 1; }
	@scripts/install-packages build test bench
	scripts/bench
	scripts/bench-postgres

bench-check: ## fail if a grant costs more CPU than the baseline allows · 一笔发放的 CPU 超出基准时失败
	@scripts/install-packages build test bench
	scripts/bench-check

kill-test: ## kill the server a hundred times under load · 负载下强杀服务器一百次
	@test -x scripts/kill-test || { echo "make kill-test: scripts/kill-test is missing" >&2; exit 1; }
	@scripts/install-packages build test
	scripts/kill-test

upgrade-test: ## replace the running program a hundred times under load · 负载下更换运行中的程序一百次
	@scripts/install-packages build test
	scripts/upgrade-test

backup-drill: ## destroy a ledger's disk under load and restore it · 负载下销毁账本的磁盘并恢复
	@scripts/install-packages build
	@scripts/install-python-packages
	swift build --product till
	scripts/backup-drill --copy litestream
	scripts/backup-drill --copy backup
	scripts/backup-drill --copy postgres
	scripts/backup-drill --copy pgbackrest

# `make failover-test FAULTS=200 SEED=7 KEEP=directory`; needs root.
FAULTS ?= 20
failover-test: ## break a cluster of PostgreSQL and three servers under load · 负载下破坏 PostgreSQL 集群与三台服务器
	@FAULTS='$(FAULTS)' SEED='$(SEED)' KEEP='$(KEEP)' scripts/failover-test

# `make package BUILD=2`: a second package of the same commit; CHANGES=1: of a tree with changes.
BUILD ?=
CHANGES ?=
package: ## a Debian package and a container image in .build/package · 在 .build/package 中生成 Debian 安装包和容器镜像
	@scripts/install-packages build package
	@BUILD='$(BUILD)' CHANGES='$(CHANGES)' scripts/package

package-test: ## install both without Swift, follow docs/production.md, upgrade under load · 在没有 Swift 的系统中安装、演练并升级
	@scripts/install-packages build package
	@KEEP='$(KEEP)' BUILD='$(BUILD)' CHANGES='$(CHANGES)' scripts/package-test

# `make release VERSION=1.2.3`, with DRY_RUN=1 first.
VERSION ?=
DRY_RUN ?=
release: ## check the changelogs, set the version, tag, package; nothing is pushed · 检查更新日志、设置版本、打标签、打包，不推送
	@scripts/install-packages build package
	@scripts/release $(VERSION) $(if $(DRY_RUN),--dry-run)

# `make simulate SEEDS=500`: the whole set takes hours.
SEEDS ?=
simulate: ## whole worlds from seeds: nothing paid is lost (hours; SEEDS=500) · 由种子生成的完整世界，证明不丢单
	@scripts/install-packages build
	SEEDS='$(SEEDS)' scripts/simulate

# The debug build, as the demo: what is asked here is whether, not how fast.
soak: ## kill the real programs at random for half an hour, then audit · 随机强杀真实进程半小时，然后审计
	@scripts/install-packages build $(if $(filter postgres,$(DATABASE)),test)
	@DATABASE='$(DATABASE)' MINUTES='$(MINUTES)' SEED='$(SEED)' JSON='$(JSON)' KEEP='$(KEEP)' scripts/soak

# libFuzzer and the address sanitizer come with the Swift toolchain.
fuzz: ## feed the readers of proofs and requests with hostile input · 用恶意输入轰炸凭证与请求的读取代码
	@scripts/install-packages build
	JOBS=$(JOBS) scripts/fuzz all $(FUZZ_SECONDS)

docs: ## the public libraries' documentation into .build/docs · 生成公开库的文档
	@scripts/install-packages build
	scripts/docs

surface: ## write down what apps can see of the libraries · 记录各库对外公开的内容
	@scripts/install-packages build
	swift build --build-tests
	TILL_WRITE_SURFACE=1 scripts/test TidyTests.PublicSurfaceTests
