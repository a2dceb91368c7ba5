# docker build -t mocose .            sets everything up, offline from then on
# docker run --rm mocose              make study, then make test
# docker run --rm -v "$PWD/out:/study/data/executed" mocose make study
FROM python:3.11-slim
RUN apt-get update && apt-get install --yes --no-install-recommends make util-linux \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /study
COPY . .
RUN make .venv/installed
CMD ["sh", "-c", "make study && make test"]
