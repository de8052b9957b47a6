# A hosted research demo: the synthetic sample, or a data folder mounted at /data and named by SENSE7_DATA.
FROM python:3.11-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium fonts-noto-core curl \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY . .
RUN pip install --no-cache-dir -c constraints.txt -e ".[export]" \
    && python -m compileall -q dashboard \
    && useradd --create-home demo
USER demo
# Participant text stays hidden unless whoever runs the demo decides otherwise.
ENV SENSE7_PUBLIC=1 STREAMLIT_SERVER_ADDRESS=0.0.0.0
EXPOSE 8501
HEALTHCHECK CMD curl --fail --silent http://localhost:8501/_stcore/health
CMD ["sense7", "run", "--headless"]
